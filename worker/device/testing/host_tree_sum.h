#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/device/device.h"

namespace tandem::device {

// Device::AddInTree as work for the host, a segment after the other, by reduction_tree.h itself: what
// a device's kernel is compared with.
class HostTreeSum {
 public:
  // Keeps a copy of what `sum` names in main memory.
  //   Internal  the blocks are not all of one root's, from left to right.
  static absl::StatusOr<HostTreeSum> Make(const TreeSum& sum);

  void operator()() const;

 private:
  explicit HostTreeSum(const TreeSum& sum);
  void AddSegment(size_t segment) const;
  size_t segments() const { return sum_.offsets.size() - 1; }

  const TreeSum sum_;                          // its `present` are not used
  std::vector<std::vector<uint8_t>> present_;  // by block, then by segment
};

}  // namespace tandem::device
