#pragma once

#include "absl/status/statusor.h"
#include "worker/checkpoint/training_state.h"
#include "worker/trainer/parameter_update.h"
#include "worker/trainer/workload.h"

namespace tandem::trainer {

// The state in which the training begins: that of the checkpoint that `resume_from` names, loaded
// into model, optimizer and `update`, or the initial one. Its tensors are those of the model.
//   InvalidArgument  there is no such checkpoint, it is damaged, or it is not of this training; the
//                    message begins with resume_from and names the difference.
absl::StatusOr<checkpoint::TrainingState> BeginningOf(Workload& workload, ParameterUpdate& update);

}  // namespace tandem::trainer
