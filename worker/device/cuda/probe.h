#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/device/device_library.h"

struct cudaDeviceProp;

namespace tandem::device {

// All devices of this process, counted as `nvidia-smi` does if CUDA_DEVICE_ORDER does not say
// otherwise. Leaves no context on them. Before anything else has called CUDA. See ThoseThatAnswer for one
// that is broken.
//   FailedPrecondition  see CheckDriver, or all of them are broken.
absl::StatusOr<std::vector<DeviceFacts>> ProbeDevices();

// Of the devices 0 to `count` - 1 those of which `facts_of` knows the facts. Another one hides none of them:
// it is left out, with a line on standard error.
//   As `facts_of` has it, of the first  none is left.
absl::StatusOr<std::vector<DeviceFacts>> ThoseThatAnswer(
    int count, const std::function<absl::StatusOr<DeviceFacts>(int index)>& facts_of);

// "GPU-8a5c1f20-...": as `nvidia-smi -L` and CUDA_VISIBLE_DEVICES have it.
std::string UuidOf(const cudaDeviceProp& device);
// "9.0".
std::string CapabilityOf(const cudaDeviceProp& device);

}  // namespace tandem::device
