#include "worker/trainer/resume.h"

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/checkpoint/find_checkpoint.h"
#include "worker/model/optimizer_state.h"

namespace tandem::trainer {
namespace {

void PrintSkipped(absl::string_view key, const std::vector<std::string>& skipped) {
  for (const std::string& why : skipped) {
    std::cerr << "tandem-trainer: " << key << ": skipped a newer checkpoint: " << why << std::endl;
  }
}

absl::Status Restore(const checkpoint::Checkpoint& saved, Workload& workload,
                     ParameterUpdate& update, checkpoint::TrainingState* state) {
  absl::Status status = checkpoint::CheckResumable(saved.manifest, IdentityOf(workload),
                                                   workload.sampler.total_steps());
  if (!status.ok()) return status;
  status = checkpoint::RestoreTrainingState(saved, state);
  if (!status.ok()) return status;
  update.Restore({state->loss_scale, state->steps_since_loss_scale_changed});
  return model::LoadOptimizerState(state->optimizer, state->parameters, *workload.optimizer);
}

absl::Status RestoreFrom(const std::string& path, Workload& workload, ParameterUpdate& update,
                         checkpoint::TrainingState* state) {
  const auto found = checkpoint::FindCheckpoint(path);
  if (!found.ok()) return found.status();
  PrintSkipped("resume_from", found->skipped);
  return Restore(found->checkpoint, workload, update, state);
}

absl::Status Under(absl::string_view key, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": ", status.message()));
}

}  // namespace

absl::StatusOr<checkpoint::TrainingState> BeginningOf(Workload& workload, ParameterUpdate& update,
                                                      const std::string& own_folder) {
  checkpoint::TrainingState state;
  state.parameters = workload.model->Parameters();
  state.buffers = workload.model->Buffers();
  if (!own_folder.empty()) {
    const auto newest = checkpoint::CheckpointFolder(own_folder).OpenNewest();
    if (newest.ok()) {
      PrintSkipped("checkpoint", newest->skipped);
      const absl::Status status = Restore(newest->checkpoint, workload, update, &state);
      if (!status.ok()) return Under("checkpoint", status);
      return state;
    }
    if (!absl::IsNotFound(newest.status())) return newest.status();
  }
  if (!workload.spec.has_resume_from()) return state;
  const absl::Status status = RestoreFrom(workload.spec.resume_from(), workload, update, &state);
  if (!status.ok()) return Under("resume_from", status);
  return state;
}

}  // namespace tandem::trainer
