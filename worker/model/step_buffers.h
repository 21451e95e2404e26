#pragma once

#include <vector>

#include "ATen/core/Tensor.h"
#include "common/ids.h"
#include "worker/ddp/named_tensor.h"

namespace tandem::model {

// Makes a step's change of the buffers (running statistics) that of one logical rank alone, the keeper,
// at every world size. On each rank:
//
//   buffers.BeginStep(keeper);   // the first logical rank of the step that has samples
//   for each logical rank that has samples:
//     buffers.BeginLogicalRank(); forward; buffers.EndLogicalRank(logical_rank);
//   buffers.EndStep();
//
// and then, where there are several ranks, the buffers of the rank that executes the keeper are
// broadcast. Not thread-safe.
class StepBuffers {
 public:
  // The tensors are written to.
  explicit StepBuffers(const std::vector<ddp::NamedTensor>& buffers);

  void BeginStep(LogicalRank keeper);
  // The buffers are those of the step's beginning again.
  void BeginLogicalRank();
  void EndLogicalRank(LogicalRank logical_rank);
  // The buffers are those that the keeper left, if this rank has executed it, else those of the
  // step's beginning.
  void EndStep();

 private:
  void CopyTo(std::vector<at::Tensor>& copies) const;
  void CopyFrom(const std::vector<at::Tensor>& copies);

  LogicalRank keeper_;
  std::vector<at::Tensor> buffers_;
  std::vector<at::Tensor> before_;  // the step
  std::vector<at::Tensor> result_;  // of it
};

}  // namespace tandem::model
