#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "worker/device/device.h"

namespace tandem::device {

// Takes a device of NVIDIA for this process, as DeviceLibrary::Open does: LibTorch and CUDA are
// started, and every switch is set.
absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(uint32_t index);

// For dlopen, as Device::collectives.
inline constexpr char kCollectives[] = "libnccl.so.2";

}  // namespace tandem::device
