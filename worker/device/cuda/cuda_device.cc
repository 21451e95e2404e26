#include "worker/device/cuda/cuda_device.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "torch/version.h"
#include "worker/device/cuda/cuda_objects.h"
#include "worker/device/cuda/cuda_status.h"
#include "worker/device/cuda/determinism.h"
#include "worker/device/cuda/management_library.h"
#include "worker/device/cuda/probe.h"
#include "worker/device/cuda/tree_sum_upload.h"

namespace tandem::device {
namespace {

// Calls into LibTorch throw.
template <typename Call>
auto WithoutExceptions(const std::string& device, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& error) {
    const absl::string_view text = error.what();
    return absl::InternalError(absl::StrCat(device, ": ", text.substr(0, text.find('\n'))));
  }
}

class CudaDevice : public Device {
 public:
  CudaDevice(int8_t index, std::string fingerprint)
      : index_(index),
        name_(absl::StrCat("cuda:", int{index})),
        fingerprint_(std::move(fingerprint)),
        compute_stream_(TorchStream(index)) {}

  std::string torch_name() const override { return name_; }
  std::string Fingerprint() const override { return fingerprint_; }
  std::string collectives() const override { return kCollectives; }

  bool Owns(const void* address) const override {
    const cudaPointerAttributes attributes = AttributesOf(address);
    return attributes.type == cudaMemoryTypeDevice && attributes.device == index_;
  }

  absl::StatusOr<std::unique_ptr<Memory>> Allocate(size_t bytes) override {
    return OnDevice([&] { return AllocateCudaMemory(bytes, name_); });
  }
  absl::StatusOr<std::unique_ptr<Stream>> MakeStream() override {
    return OnDevice([&] { return MakeCudaStream(name_); });
  }
  Stream& ComputeStream() override { return *compute_stream_; }
  absl::StatusOr<std::unique_ptr<Event>> Record(Stream& stream) override {
    return OnDevice([&] { return RecordCudaEvent(stream, name_); });
  }
  absl::Status WaitFor(Stream& stream, const Event& event) override {
    return OnDevice([&] { return WaitForCudaEvent(stream, event, name_); });
  }

  absl::Status Copy(void* to, const void* from, size_t bytes, Stream& stream) override {
    return OnDevice([&] { return CopyOnDevice(to, from, bytes, CudaStreamOf(stream)); });
  }
  absl::Status AddInTree(const TreeSum& sum, Stream& stream) override {
    return OnDevice([&] { return AddInTreeOn(sum, CudaStreamOf(stream), index_); });
  }

 private:
  // Each thread has a current device, which is number 0 at first.
  template <typename Call>
  auto OnDevice(const Call& call) -> decltype(call()) {
    return WithoutExceptions(name_, [&] {
      const c10::cuda::CUDAGuard guard(index_);
      return call();
    });
  }

  static cudaPointerAttributes AttributesOf(const void* address) {
    cudaPointerAttributes attributes = {};
    if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) cudaGetLastError();
    return attributes;
  }

  absl::Status CopyOnDevice(void* to, const void* from, size_t bytes, cudaStream_t stream) {
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
    // Other main memory has been read when the call returns.
    const bool read_later = AttributesOf(from).type == cudaMemoryTypeHost;
    if (error == cudaSuccess && read_later) error = cudaStreamSynchronize(stream);
    return CudaStatus(error, name_, absl::StrCat("copying ", bytes, " bytes"));
  }

  const int8_t index_;
  const std::string name_;
  const std::string fingerprint_;
  const std::unique_ptr<Stream> compute_stream_;
};

absl::Status StartCuda(int8_t index) {
  return WithoutExceptions(absl::StrCat("cuda:", int{index}), [&] {
    at::globalContext().lazyInitDevice(at::kCUDA);
    c10::cuda::set_device(index);
    c10::cuda::device_synchronize();  // makes the context
    return absl::OkStatus();
  });
}

absl::StatusOr<std::string> FingerprintOf(int8_t index) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, index);
  const std::string name = absl::StrCat("cuda:", int{index});
  absl::Status status = CudaStatus(error, name, "reading its properties");
  if (!status.ok()) return status;
  return WithoutExceptions(name, [&]() -> absl::StatusOr<std::string> {
    return absl::StrCat(properties.name, ", ", properties.multiProcessorCount,
                        " multiprocessors, compute capability ", CapabilityOf(properties), ", ",
                        DescribeDriver(DriverBuild(), DriverVersion()), ", CUDA ", RuntimeVersion(),
                        ", cuBLASLt ", cublasLtGetVersion(), ", cuDNN ",
                        at::detail::getCUDAHooks().versionRuntimeCuDNN(), ", LibTorch ",
                        TORCH_VERSION, "; ", DescribeDeterminism());
  });
}

absl::Status CheckIndex(uint32_t index) {
  int count = 0;
  cudaGetDeviceCount(&count);
  if (index < static_cast<uint32_t>(count)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("there is no cuda:", index, ": this process sees ", count,
                   " devices; see `nvidia-smi` and CUDA_VISIBLE_DEVICES"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(uint32_t index) {
  if (absl::Status status = CheckDriver(); !status.ok()) return status;
  if (absl::Status status = CheckIndex(index); !status.ok()) return status;
  if (absl::Status status = CheckEnvironment(); !status.ok()) return status;
  if (absl::Status status = SetSwitches(Switches()); !status.ok()) return status;
  const auto device_index = static_cast<int8_t>(index);
  if (absl::Status status = StartCuda(device_index); !status.ok()) return status;
  const absl::StatusOr<std::string> fingerprint = FingerprintOf(device_index);
  if (!fingerprint.ok()) return fingerprint.status();
  return std::make_unique<CudaDevice>(device_index, *fingerprint);
}

}  // namespace tandem::device
