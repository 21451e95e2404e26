#include "worker/device/cuda/cuda_objects.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/device/cuda/cuda_status.h"

namespace tandem::device {
namespace {

class OwnStream : public Stream {
 public:
  explicit OwnStream(cudaStream_t stream) : stream_(stream) {}
  ~OwnStream() override { cudaStreamDestroy(stream_); }
  StreamHandle* handle() const override { return reinterpret_cast<StreamHandle*>(stream_); }

 private:
  const cudaStream_t stream_;
};

class CurrentStream : public Stream {
 public:
  explicit CurrentStream(int8_t device_index) : device_index_(device_index) {}
  StreamHandle* handle() const override {
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream(device_index_).stream();
    return reinterpret_cast<StreamHandle*>(stream);
  }

 private:
  const int8_t device_index_;
};

class CudaMemory : public Memory {
 public:
  explicit CudaMemory(void* data) : data_(data) {}
  ~CudaMemory() override { cudaFree(data_); }
  std::byte* data() const override { return static_cast<std::byte*>(data_); }

 private:
  void* const data_;
};

class CudaEvent : public Event {
 public:
  CudaEvent(cudaEvent_t event, std::string device) : event_(event), device_(std::move(device)) {}
  ~CudaEvent() override { cudaEventDestroy(event_); }

  cudaEvent_t event() const { return event_; }

  absl::StatusOr<bool> Reached() const override {
    const cudaError_t error = cudaEventQuery(event_);
    if (error == cudaSuccess) return true;
    if (error == cudaErrorNotReady) {
      cudaGetLastError();  // is no error
      return false;
    }
    return CudaStatus(error, device_, "work failed");
  }

 private:
  const cudaEvent_t event_;
  const std::string device_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> MakeCudaStream(const std::string& device) {
  cudaStream_t stream = nullptr;
  // LibTorch's own stream is one that others would wait for, and it for them.
  const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (absl::Status status = CudaStatus(error, device, "making a stream"); !status.ok())
    return status;
  return std::make_unique<OwnStream>(stream);
}

// Not from LibTorch's allocator: what that gives out is free only for the work of one stream.
absl::StatusOr<std::unique_ptr<Memory>> AllocateCudaMemory(size_t bytes,
                                                           const std::string& device) {
  void* data = nullptr;
  cudaError_t error = cudaMalloc(&data, bytes);
  if (error == cudaErrorMemoryAllocation) {
    c10::cuda::CUDACachingAllocator::emptyCache();
    error = cudaMalloc(&data, bytes);
  }
  const std::string doing = absl::StrCat("taking ", bytes, " bytes of its memory");
  if (absl::Status status = CudaStatus(error, device, doing); !status.ok()) return status;
  return std::make_unique<CudaMemory>(data);
}

absl::StatusOr<std::unique_ptr<Event>> RecordCudaEvent(const Stream& stream,
                                                       const std::string& device) {
  cudaEvent_t event = nullptr;
  const cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  if (absl::Status status = CudaStatus(error, device, "making an event"); !status.ok())
    return status;
  auto made = std::make_unique<CudaEvent>(event, device);
  const cudaError_t recorded = cudaEventRecord(event, CudaStreamOf(stream));
  if (absl::Status status = CudaStatus(recorded, device, "recording an event"); !status.ok()) {
    return status;
  }
  return made;
}

absl::Status WaitForCudaEvent(const Stream& stream, const Event& event, const std::string& device) {
  const auto& recorded = static_cast<const CudaEvent&>(event);
  return CudaStatus(cudaStreamWaitEvent(CudaStreamOf(stream), recorded.event()), device,
                    "waiting for an event");
}

std::unique_ptr<Stream> TorchStream(int8_t device_index) {
  return std::make_unique<CurrentStream>(device_index);
}

}  // namespace tandem::device
