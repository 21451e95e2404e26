#pragma once

#include "absl/status/statusor.h"
#include "tandem/v1/trainer.pb.h"
#include "worker/checkpoint/checkpoint_writer.h"
#include "worker/checkpoint/training_state.h"
#include "worker/ddp/transport.h"
#include "worker/device/device.h"
#include "worker/trainer/agent_link.h"
#include "worker/trainer/hooks.h"
#include "worker/trainer/mistakes.h"
#include "worker/trainer/parameter_update.h"
#include "worker/trainer/position_reporter.h"
#include "worker/trainer/workload.h"

namespace tandem::trainer {

// What one rank trains with; all outlive the training.
struct TrainingRun {
  const v1::Prepare& assignment;
  device::Device* device = nullptr;  // where the model is; null: on the CPU
  Workload& workload;
  ParameterUpdate& update;
  checkpoint::TrainingState& state;  // where the training begins, and then is
  const Mistakes& mistakes;
  const Hooks& hooks;
  PositionReporter& position;
  checkpoint::CheckpointWriter* writer = nullptr;  // rank 0's, if the training is saved
  AgentLink& agent;
};

enum class TrainingEnd { kFinished, kPaused };

// Everything between the ranks' meeting and the end of the last step: they agree on what they train,
// train it, and rank 0 reports. Collective. The transport is aborted on an error.
// Errors as TrainingLoop, and those of the collectives before it.
absl::StatusOr<TrainingEnd> Train(const TrainingRun& run, ddp::Transport& transport);

}  // namespace tandem::trainer
