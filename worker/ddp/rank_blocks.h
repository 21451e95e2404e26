#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "worker/ddp/flat_gradient.h"
#include "worker/ddp/reduction_tree.h"
#include "worker/device/device.h"

namespace tandem::ddp {

// The blocks that all ranks have left over, of one bucket or of one share of its elements.
class RankBlocks {
 public:
  // `device`: where their values are; null: in main memory. `memory`: of block number `index` of a
  // rank.
  RankBlocks(device::Device* device, uint32_t world_size, uint32_t logical_ranks,
             const std::function<FlatGradient(Rank rank, size_t index)>& memory);

  // From left to right.
  const std::vector<FlatGradient>& of(Rank rank) const { return ranks_[rank.value()]; }

  // Adds all in the tree, in place, and multiplies the sum by `scale`. On a device both are one
  // piece of work of its compute stream.
  //   errors as device::Device.
  absl::Status Add(const FlatLayout& layout, float scale);
  // After Add: where the first block was.
  const FlatGradient& sum() const { return ranks_[0][0]; }

 private:
  void AddHere(const FlatLayout& layout, float scale);
  absl::Status AddOnDevice(const FlatLayout& layout, float scale);

  device::Device* const device_;
  std::vector<std::vector<FlatGradient>> ranks_;
  std::vector<Block> order_;  // of all of them, one rank after the other
};

}  // namespace tandem::ddp
