#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "worker/checkpoint/checkpoint_writer.h"
#include "worker/checkpoint/training_state.h"
#include "worker/ddp/transport.h"
#include "worker/trainer/batch_pass.h"
#include "worker/trainer/evaluator.h"
#include "worker/trainer/parameter_update.h"
#include "worker/trainer/training_observer.h"

namespace tandem::trainer {

// Trains one rank's share of every step, together with the other ranks. Collective, one thread.
class TrainingLoop {
 public:
  // What it works with; all outlive it.
  struct Parts {
    PassParts pass;
    ddp::Transport& transport;
    ParameterUpdate& update;
    checkpoint::TrainingState& state;                // as restored; kept up to date
    checkpoint::CheckpointWriter* writer = nullptr;  // rank 0's, if the training is saved
    std::vector<TrainingObserver*> observers;
  };

  explicit TrainingLoop(Parts parts);

  // All steps that are left, with their evaluations and checkpoints; fewer where a rank was asked to pause:
  // then the last one that was done is saved.
  //   OutOfRange  the loss, a parameter that is to be compared or saved, or fp16's gradient at every
  //               scale is no longer finite, on all ranks alike.
  //   Aborted     a rank has other parameters or buffers than rank 0: names the first.
  //   others              as GradientReducer, LeafTallies, Loader and CheckpointWriter.
  absl::Status Run();
  // After Run: steps are left.
  bool paused() const { return paused_; }

 private:
  absl::Status Step();
  absl::StatusOr<ddp::Tally> Reduce();
  absl::Status ShareBuffers();
  // The rank that executes it.
  Rank RankOf(LogicalRank logical_rank) const;
  absl::Status FinishStep(const ddp::Tally& total, const ParameterUpdate::Report& report);
  absl::Status Verify(v1::StepSample* sample);
  // Before parameters are compared or saved: the bits of a NaN mean nothing.
  absl::Status CheckFinite() const;
  absl::Status Trace(const v1::StepSample& sample, double gradient_norm);
  bool EvaluationIsDue() const;
  absl::Status Evaluate();
  absl::Status SaveIfDue();

  bool IsLastStep() const { return state_.step == total_steps_; }
  void Enter(v1::Phase phase) { parts_.pass.position.Enter(state_.step, phase); }
  // Calls one function of each observer.
  template <typename Function, typename... Arguments>
  absl::Status Tell(Function function, const Arguments&... arguments);

  Parts parts_;
  const Workload& workload_;
  const uint64_t total_steps_;
  checkpoint::TrainingState& state_;
  const std::unique_ptr<BatchPass> pass_;
  Evaluator evaluator_;
  bool paused_ = false;
};

}  // namespace tandem::trainer
