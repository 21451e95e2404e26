#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "common/progress_page.h"
#include "worker/ddp/gradient_reducer.h"
#include "worker/ddp/leaf_tallies.h"
#include "worker/trainer/evaluator.h"
#include "worker/trainer/forward_seed.h"
#include "worker/trainer/training_observer.h"
#include "worker/trainer/workload.h"

namespace tandem::trainer {

// Trains one rank's share of every step, together with the other ranks. Collective, one thread.
class TrainingLoop {
 public:
  // What it works with; all outlive it.
  struct Parts {
    Workload& workload;
    ddp::GradientReducer& reducer;
    ddp::LeafTallies& tallies;
    ProgressPage& page;
    Rank rank;
    const ForwardSeed& forward_seed;
    std::vector<TrainingObserver*> observers;
  };

  explicit TrainingLoop(Parts parts);

  // All steps, with their evaluations.
  //   OutOfRange  the loss is no longer finite, on all ranks alike.
  //   others      as GradientReducer and LeafTallies.
  absl::Status Run();

 private:
  absl::Status Step();
  void RunLogicalRank(LogicalRank logical_rank, data::Range share);
  model::Outcome Forward(LogicalRank logical_rank, data::Range share);
  absl::StatusOr<ddp::Tally> Reduce();
  absl::Status ReportStep(const ddp::Tally& total);
  bool EvaluationIsDue() const;
  absl::Status Evaluate();

  void Enter(v1::Phase phase) { parts_.page.Set({step_, phase}); }
  // The samples at these places of the epoch's order.
  std::vector<int64_t> SamplesAt(data::Range places);

  Parts parts_;
  const data::Sampler& sampler_;
  Evaluator evaluator_;

  // Where the training is.
  uint64_t step_ = 0;  // steps done
  std::optional<uint64_t> order_epoch_;
  std::vector<int64_t> order_;                     // of that epoch
  std::vector<std::optional<ddp::Tally>> leaves_;  // of this step, so far
};

}  // namespace tandem::trainer
