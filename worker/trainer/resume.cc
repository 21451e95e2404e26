#include "worker/trainer/resume.h"

#include <iostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/find_checkpoint.h"
#include "worker/model/optimizer_state.h"

namespace tandem::trainer {
namespace {

absl::Status Restore(const std::string& path, Workload& workload, ParameterUpdate& update,
                     checkpoint::TrainingState* state) {
  const auto found = checkpoint::FindCheckpoint(path);
  if (!found.ok()) return found.status();
  for (const std::string& why : found->skipped) {
    std::cerr << "tandem-trainer: resume_from: skipped a newer checkpoint: " << why << std::endl;
  }
  const checkpoint::Checkpoint& saved = found->checkpoint;
  absl::Status status = checkpoint::CheckResumable(saved.manifest, IdentityOf(workload),
                                                   workload.sampler.total_steps());
  if (!status.ok()) return status;
  status = checkpoint::RestoreTrainingState(saved, state);
  if (!status.ok()) return status;
  update.Restore({state->loss_scale, state->steps_since_loss_scale_changed});
  return model::LoadOptimizerState(state->optimizer, state->parameters, *workload.optimizer);
}

}  // namespace

absl::StatusOr<checkpoint::TrainingState> BeginningOf(Workload& workload, ParameterUpdate& update) {
  checkpoint::TrainingState state;
  state.parameters = workload.model->Parameters();
  state.buffers = workload.model->Buffers();
  if (!workload.spec.has_resume_from()) return state;
  const absl::Status status = Restore(workload.spec.resume_from(), workload, update, &state);
  if (status.ok()) return state;
  return absl::InvalidArgumentError(absl::StrCat("resume_from: ", status.message()));
}

}  // namespace tandem::trainer
