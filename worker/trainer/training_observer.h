#pragma once

#include "absl/status/status.h"
#include "tandem/v1/job.pb.h"

namespace tandem::trainer {

// Hears what the training loop did, in order. An error ends the training.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  virtual absl::Status OnStep(const v1::StepSample& sample) = 0;
  virtual absl::Status OnEvaluation(const v1::Evaluation& evaluation) = 0;
  virtual absl::Status OnCheckpoint(const v1::CheckpointFile& file) = 0;
  // Nothing follows.
  virtual absl::Status OnEnd() = 0;
};

}  // namespace tandem::trainer
