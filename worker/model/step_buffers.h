#pragma once

#include <vector>

#include "ATen/core/Tensor.h"
#include "common/ids.h"
#include "worker/ddp/named_tensor.h"

namespace tandem::model {

// Makes a step's change of the buffers (running statistics) that of logical rank 0 alone, at every
// world size. On each rank:
//
//   buffers.BeginStep();
//   for each logical rank that has samples:
//     buffers.BeginLogicalRank(); forward; buffers.EndLogicalRank(logical_rank);
//   buffers.EndStep();
//
// and then, where there are several ranks, the buffers of rank 0, which executes logical rank 0,
// are broadcast. Not thread-safe.
class StepBuffers {
 public:
  // The tensors are written to.
  explicit StepBuffers(const std::vector<ddp::NamedTensor>& buffers);

  void BeginStep();
  // The buffers are those of the step's beginning again.
  void BeginLogicalRank();
  void EndLogicalRank(LogicalRank logical_rank);
  // The buffers are those that logical rank 0 left, if this rank has executed it, else those of the
  // step's beginning.
  void EndStep();

 private:
  void CopyTo(std::vector<at::Tensor>& copies) const;
  void CopyFrom(const std::vector<at::Tensor>& copies);

  std::vector<at::Tensor> buffers_;
  std::vector<at::Tensor> before_;  // the step
  std::vector<at::Tensor> result_;  // of it
};

}  // namespace tandem::model
