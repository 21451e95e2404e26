#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "common/logical_ranks.h"
#include "worker/ddp/exchange_header.h"
#include "worker/ddp/flat_gradient.h"
#include "worker/ddp/reduction_tree.h"
#include "worker/ddp/transport.h"

namespace tandem::ddp {

// The gradients of some parameters on their way from the leaves to the root. GradientReducer says
// when; all memory is allocated at construction. Not thread-safe; gradient mode is off around every
// call.
//
// There is one slot per rank: a header, the presence of each block's segments, the values of each
// block. This rank's blocks are summed in its own slot, in place, and those of all ranks in the
// first slot.
class GradientBucket {
 public:
  struct Constants {
    uint32_t index = 0;  // among the buckets
    uint32_t logical_ranks = 1;
    uint64_t job_hash = 0;
  };

  // `parameters` give the shapes. `transport` outlives the bucket.
  GradientBucket(Transport& transport, const Constants& constants,
                 const std::vector<at::Tensor>& parameters);

  // Starts a leaf, with all segments absent. Leaves come in order, from the first of the rank's
  // range.
  void OpenLeaf(LogicalRank leaf);
  // Copies a gradient into the open leaf, in float32.
  //   FailedPrecondition  the leaf has it already.
  absl::Status Store(size_t segment, const at::Tensor& gradient);
  bool is_full() const { return missing_ == 0; }
  // Adds the leaf to this rank's blocks. No effect if that was done.
  void CloseLeaf();

  // Sends this rank's blocks off, after the last leaf.
  void Launch(uint64_t step);
  // Waits for the blocks of the other ranks and adds all. Errors as GradientReducer::Finish.
  absl::Status AwaitSum();

  // After AwaitSum: the sum over all leaves, as views in the parameters' shapes.
  bool has_sum(size_t segment) const { return rank_blocks_[0][0].present[segment] != 0; }
  const at::Tensor& sum(size_t segment) const { return sums_[segment]; }
  void ScaleSums(float factor) { rank_blocks_[0][0].values.mul_(factor); }

 private:
  // A place for a leaf: a block in the own slot, or scratch memory.
  struct LeafBuffer {
    FlatGradient gradient;
    std::vector<at::Tensor> segments;
  };
  // Into the left one; the right one, which never is a block's place, becomes free.
  struct AddLeaves {
    GradientBucket* bucket;
    LeafBuffer* operator()(LeafBuffer* left, LeafBuffer* right) const;
  };
  // Into the left one.
  struct AddBlocks {
    const FlatLayout* layout;
    FlatGradient* operator()(FlatGradient* left, FlatGradient* right) const;
  };

  void MakeSlots();
  void MakeLeafBuffers();
  std::vector<at::Tensor> SegmentsOf(const FlatGradient& gradient) const;
  LeafBuffer* TakeBufferFor(LogicalRank leaf);
  LogicalRange RangeOf(Rank rank) const;
  ExchangeHeader HeaderOf(Rank rank) const;
  std::byte* SlotOf(Rank rank) const;
  absl::Status CheckHeaders() const;

  // Constant after construction.
  Transport& transport_;
  const Constants constants_;
  const std::vector<at::Tensor> parameters_;
  const FlatLayout layout_;
  const std::vector<Block> own_blocks_;
  size_t slot_bytes_ = 0;
  at::Tensor slots_;                                    // bytes, [world size * slot_bytes_]
  std::vector<std::vector<FlatGradient>> rank_blocks_;  // by rank, then block: views of slots_
  std::vector<at::Tensor> sums_;                        // views of the first of rank_blocks_
  std::vector<LeafBuffer> block_buffers_;               // by own block: views of the own slot
  std::vector<LeafBuffer> scratch_buffers_;
  std::vector<std::vector<uint8_t>> scratch_present_;

  // Where the step is.
  std::vector<LeafBuffer*> free_scratch_;
  TreeAccumulator<LeafBuffer*, AddLeaves> own_tree_;
  TreeAccumulator<FlatGradient*, AddBlocks> root_tree_;
  LogicalRank leaf_;
  LeafBuffer* open_ = nullptr;
  size_t missing_ = 0;
  uint64_t step_ = 0;
  std::unique_ptr<PendingExchange> pending_;
};

}  // namespace tandem::ddp
