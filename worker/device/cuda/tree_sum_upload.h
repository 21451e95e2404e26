#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "worker/device/device.h"

namespace tandem::device {

// Device::AddInTree: the plan travels to the device, and the kernel is launched behind it. Neither
// is waited for. LibTorch's allocators throw.
absl::Status AddInTreeOn(const TreeSum& sum, cudaStream_t stream, int8_t device_index);

}  // namespace tandem::device
