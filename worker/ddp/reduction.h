#pragma once

#include <cstdint>

namespace tandem::ddp {

// In which order gradients are added.
enum class Reduction : uint8_t {
  // In the fixed tree of reduction_tree.h: the same bits at every world size.
  kTree,
  // As plain data parallelism does, for comparison: each rank adds its own leaves from left to
  // right, and the ranks' sums are added in the order of ranks. The bits depend on the world
  // size. A parameter without a gradient on some ranks counts as zeros there; without one on any
  // rank it stays undefined.
  kAllReduce,
};

}  // namespace tandem::ddp
