#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/checkpoint/attempt_fence.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "tandem/v1/job.pb.h"
#include "worker/checkpoint/training_state.h"

namespace tandem::checkpoint {

// The folder of one job below the one that its specification names.
std::string FolderOfJob(const v1::Checkpoint& spec, const std::string& job_id);

// Saves the training of one job. Rank 0 alone has one and writes, after a step, when all ranks have the
// same state; the others need not wait for it. The way back is the same on every rank, before it is
// ready:
//
//   fence.Raise();                                   // nothing of an older attempt comes any more
//   auto found = CheckpointFolder(own).OpenNewest();  // or FindCheckpoint(spec.resume_from())
//   CheckResumable(found->checkpoint.manifest, identity, total_steps);
//   RestoreTrainingState(found->checkpoint, &state);
//   model::LoadOptimizerState(state.optimizer, state.parameters, optimizer);
//
// Each rank reads the file itself. That all of them have read the same one is seen by
// ddp::VerifyEqualDigests over what they restored, before the first step.
class CheckpointWriter {
 public:
  struct Options {
    std::string folder;        // FolderOfJob
    uint64_t every_steps = 0;  // 0: at the end only
    uint64_t total_steps = 0;  // of the job: after them it is always saved
    uint32_t keep = 1;         // how many checkpoints are kept
    TrainingIdentity identity;
  };

  // Both outlive it. Once a newer attempt has raised the fence, nothing is written or removed any more.
  CheckpointWriter(Options options, const AttemptFence& fence,
                   FileCalls& calls = FileCalls::System());

  // Whether a checkpoint could be written: makes the folder and tries. Before the training, which
  // would be lost otherwise.
  //   InvalidArgument  it could not; the message names checkpoint.dir.
  absl::Status Probe();

  bool IsDue(uint64_t step) const;

  // Writes the state, and then removes what is older than the newest `keep`. On return the file is on
  // the disk.
  //   AlreadyExists      a newer attempt has begun.
  //   ResourceExhausted  the disk or the quota is full.
  //   others             as CheckpointFolder and WriteTrainingState. Earlier checkpoints are whole.
  absl::StatusOr<v1::CheckpointFile> Write(const TrainingState& state);

 private:
  const Options options_;
  const AttemptFence& fence_;
  FencedFileCalls calls_;
  CheckpointFolder folder_;
};

}  // namespace tandem::checkpoint
