#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/checkpoint/checkpoint.h"
#include "common/checkpoint/resumable.h"
#include "worker/ddp/named_tensor.h"

namespace tandem::checkpoint {

// What a training carries from one step to the next: all that a checkpoint holds besides what was
// trained. Parameters and buffers share their memory with the model.
struct TrainingState {
  uint64_t step = 0;  // steps done
  uint64_t receipt = 0;
  double loss_scale = 0;
  uint64_t steps_since_loss_scale_changed = 0;
  std::vector<ddp::NamedTensor> parameters;  // in order of registration
  std::vector<ddp::NamedTensor> buffers;
  std::vector<ddp::NamedTensor> optimizer;  // named as model::OptimizerState does: "optimizer."...
};

// Writes the state at the place where `fd` is.
//   InvalidArgument  two tensors have the same name, one has a dtype that safetensors has not, or one
//                    of the optimizer is not named so; the message names the tensor.
//   others           as WriteCheckpoint.
absl::Status WriteTrainingState(int fd, const TrainingIdentity& identity,
                                const TrainingState& state);

// Copies parameters and buffers into those of `state`, which stay where they are; sets its numbers, and
// its optimizer to tensors of their own for model::LoadOptimizerState.
//   InvalidArgument  a parameter or buffer is missing, too many, or of another shape or dtype; the
//                    message begins with the path and names the tensor. Nothing was changed.
absl::Status RestoreTrainingState(const Checkpoint& checkpoint, TrainingState* state);

}  // namespace tandem::checkpoint
