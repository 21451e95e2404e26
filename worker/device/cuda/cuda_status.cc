#include "worker/device/cuda/cuda_status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace tandem::device {

absl::Status CudaStatus(cudaError_t error, absl::string_view device, absl::string_view doing) {
  if (error == cudaSuccess) return absl::OkStatus();
  // Else LibTorch would find it after a call of its own, and blame that.
  cudaGetLastError();
  return absl::InternalError(absl::StrCat(device, ": ", doing, ": ", cudaGetErrorString(error),
                                          " (", cudaGetErrorName(error), ")"));
}

absl::Status CheckDriver() {
  if (DriverVersion().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no NVIDIA driver on this host: install one for CUDA ",
                     RuntimeVersion(), " or later, and see that `nvidia-smi` lists the devices"));
  }
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (error == cudaErrorInsufficientDriver) {
    return absl::FailedPreconditionError(
        absl::StrCat("the NVIDIA driver of this host is for CUDA ", DriverVersion(),
                     " and this build needs ", RuntimeVersion(), " or later: install a newer one"));
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return absl::FailedPreconditionError(
        "the NVIDIA driver shows this process no device: see `nvidia-smi` and "
        "CUDA_VISIBLE_DEVICES");
  }
  if (error == cudaSuccess) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the NVIDIA driver does not work: ", cudaGetErrorString(error), " (",
                   cudaGetErrorName(error), "); see `nvidia-smi`"));
}

std::string CudaVersion(int version) {
  return version == 0 ? "" : absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

std::string DriverVersion() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? CudaVersion(version) : "";
}

std::string RuntimeVersion() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == cudaSuccess ? CudaVersion(version) : "";
}

}  // namespace tandem::device
