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
  // One is about to be written: whoever goes on from it does not do the steps before it again, so what is
  // to be known of them must have been said by then.
  virtual absl::Status BeforeCheckpoint() { return absl::OkStatus(); }
  virtual absl::Status OnCheckpoint(const v1::CheckpointFile& file) = 0;
  // Nothing follows.
  virtual absl::Status OnEnd() = 0;
};

}  // namespace tandem::trainer
