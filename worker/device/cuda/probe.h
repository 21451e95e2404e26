#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/device/device_library.h"

struct cudaDeviceProp;

namespace tandem::device {

// All devices of this process, counted as `nvidia-smi` does if CUDA_DEVICE_ORDER does not say
// otherwise. Leaves no context on them. Before anything else has called CUDA.
//   FailedPrecondition  see CheckDriver.
absl::StatusOr<std::vector<DeviceFacts>> ProbeDevices();

// "GPU-8a5c1f20-...": as `nvidia-smi -L` and CUDA_VISIBLE_DEVICES have it.
std::string UuidOf(const cudaDeviceProp& device);
// "9.0".
std::string CapabilityOf(const cudaDeviceProp& device);

}  // namespace tandem::device
