#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "worker/device/device.h"

namespace tandem {

struct SumsSeen {
  uint64_t sums = 0;       // calls of AddInTree
  uint64_t values = 0;     // that were compared
  uint64_t different = 0;  // of them, by a bit at least
};

// Device::AddInTree beside the definition of the tree, for many shapes of worlds and segments, with
// values of any bits; the device's memory is laid out as an exchange would have it.
//   errors as device::Device.
absl::StatusOr<SumsSeen> CheckSums(device::Device& device);

}  // namespace tandem
