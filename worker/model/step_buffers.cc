#include "worker/model/step_buffers.h"

#include "ATen/core/grad_mode.h"

namespace tandem::model {

StepBuffers::StepBuffers(const std::vector<ddp::NamedTensor>& buffers) {
  for (const ddp::NamedTensor& buffer : buffers) {
    buffers_.push_back(buffer.tensor.detach());
    before_.push_back(buffers_.back().clone());
    result_.push_back(buffers_.back().clone());
  }
}

void StepBuffers::BeginStep(LogicalRank keeper) {
  keeper_ = keeper;
  CopyTo(before_);
  CopyTo(result_);
}

void StepBuffers::BeginLogicalRank() { CopyFrom(before_); }

void StepBuffers::EndLogicalRank(LogicalRank logical_rank) {
  if (logical_rank == keeper_) CopyTo(result_);
}

void StepBuffers::EndStep() { CopyFrom(result_); }

void StepBuffers::CopyTo(std::vector<at::Tensor>& copies) const {
  for (size_t i = 0; i < buffers_.size(); ++i) copies[i].copy_(buffers_[i]);
}

void StepBuffers::CopyFrom(const std::vector<at::Tensor>& copies) {
  for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].copy_(copies[i]);
}

}  // namespace tandem::model
