#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "common/logical_ranks.h"
#include "worker/ddp/flat_gradient.h"
#include "worker/ddp/reduction.h"
#include "worker/ddp/reduction_tree.h"

namespace tandem::ddp {

// The gradients of `parameters` that are laid out one behind the other, as views in their shapes.
std::vector<at::Tensor> ViewsOf(const FlatLayout& layout, const FlatGradient& gradient,
                                const std::vector<at::Tensor>& parameters);

// Adds the gradients of a rank's own leaves, as they come: into one sum per maximal aligned block
// of its range, or all into one (Reduction::kAllReduce). All memory is allocated at construction.
// Not thread-safe; gradient mode is off around every call.
class LeafSum {
 public:
  // `place`: where sum number `index` goes, from left to right.
  LeafSum(LogicalRange range, Reduction reduction, const std::vector<at::Tensor>& parameters,
          const std::function<FlatGradient(size_t index)>& place);

  // Starts a leaf, with all segments absent. Leaves come in order, from the first of the range.
  void Open(LogicalRank leaf);
  // Copies a gradient into the open leaf, in float32.
  //   FailedPrecondition  the leaf has it already.
  absl::Status Store(size_t segment, const at::Tensor& gradient);
  bool is_full() const { return missing_ == 0; }
  // Adds the leaf to the sums. No effect if that was done.
  void Close();

 private:
  // A place for a leaf: that of a sum, or scratch memory.
  struct Buffer {
    FlatGradient gradient;
    std::vector<at::Tensor> segments;
  };
  // Into the left one; the right one, which never is a sum's place, becomes free.
  struct AddBuffers {
    LeafSum* owner;
    Buffer* operator()(Buffer* left, Buffer* right) const;
  };

  void MakeScratch(size_t count, const std::vector<at::Tensor>& parameters);
  Buffer* TakeBufferFor(LogicalRank leaf);

  // Constant after construction.
  const Reduction reduction_;
  const FlatLayout layout_;
  std::vector<Block> sums_;  // what is added in each place
  std::vector<Buffer> places_;
  std::vector<Buffer> scratch_;
  std::vector<std::vector<uint8_t>> scratch_present_;

  // Where the step is.
  std::vector<Buffer*> free_scratch_;
  TreeAccumulator<Buffer*, AddBuffers> tree_;
  LogicalRank leaf_;
  Buffer* open_ = nullptr;
  size_t missing_ = 0;
};

}  // namespace tandem::ddp
