#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "worker/checkpoint/training_state.h"
#include "worker/trainer/parameter_update.h"
#include "worker/trainer/workload.h"

namespace tandem::trainer {

// The state in which the training begins, loaded into model, optimizer and `update`: that of the newest
// checkpoint in the job's own folder (empty: it has none), else that of the checkpoint that `resume_from`
// names, else the initial one. Its tensors are those of the model.
//   InvalidArgument  the checkpoint is damaged, or it is not of this training, or there is none where
//                    resume_from says; the message begins with the key and names the difference.
//   others           by errno: the folder cannot be read.
absl::StatusOr<checkpoint::TrainingState> BeginningOf(Workload& workload, ParameterUpdate& update,
                                                      const std::string& own_folder);

}  // namespace tandem::trainer
