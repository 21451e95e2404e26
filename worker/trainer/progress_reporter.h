#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "common/clock.h"
#include "tandem/v1/trainer.pb.h"
#include "worker/trainer/training_observer.h"

namespace tandem::trainer {

// Tells the agent about every step and evaluation, several to a message: the first at once, so that
// the time to the first step is true, then at most one message in kInterval, and before a checkpoint.
// Not thread-safe.
class ProgressReporter : public TrainingObserver {
 public:
  using Send = std::function<absl::Status(const v1::RankProgress&)>;
  static constexpr absl::Duration kInterval = absl::Milliseconds(200);

  // `clock` outlives it.
  ProgressReporter(const Clock& clock, Send send) : clock_(clock), send_(std::move(send)) {}

  // Errors are those of `send`.
  absl::Status OnStep(const v1::StepSample& sample) override;
  absl::Status OnEvaluation(const v1::Evaluation& evaluation) override;
  absl::Status BeforeCheckpoint() override;
  absl::Status OnCheckpoint(const v1::CheckpointFile& file) override;
  absl::Status OnEnd() override;

 private:
  absl::Status SendIfDue();
  absl::Status SendNow();

  const Clock& clock_;
  const Send send_;
  v1::RankProgress unsent_;
  std::optional<absl::Duration> last_sent_;
};

}  // namespace tandem::trainer
