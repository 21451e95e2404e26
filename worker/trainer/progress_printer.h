#pragma once

#include <cstdint>
#include <optional>
#include <ostream>

#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/trainer/training_observer.h"

namespace tandem::trainer {

// Tells people how it goes: the first step, then a line at most once in kInterval, then the last
// step and evaluation. Not thread-safe.
class ProgressPrinter : public TrainingObserver {
 public:
  static constexpr absl::Duration kInterval = absl::Seconds(1);

  // `clock` and `out` outlive it.
  ProgressPrinter(const Clock& clock, uint64_t total_steps, std::ostream& out)
      : clock_(clock), total_steps_(total_steps), out_(out) {}

  // These never fail.
  absl::Status OnStep(const v1::StepSample& sample) override;
  absl::Status OnEvaluation(const v1::Evaluation& evaluation) override;
  absl::Status OnCheckpoint(const v1::CheckpointFile& file) override;
  absl::Status OnEnd() override;

 private:
  struct Line {
    uint64_t step = 0;
    absl::Duration at;
  };

  void PrintStep(absl::Duration now);

  const Clock& clock_;
  const uint64_t total_steps_;
  std::ostream& out_;
  v1::StepSample sample_;          // the latest
  v1::Evaluation evaluation_;      // the latest
  std::optional<Line> last_line_;  // none: nothing printed yet
};

}  // namespace tandem::trainer
