#include "worker/trainer/progress_reporter.h"

namespace tandem::trainer {

absl::Status ProgressReporter::OnStep(const v1::StepSample& sample) {
  *unsent_.add_samples() = sample;
  return SendIfDue();
}

absl::Status ProgressReporter::OnEvaluation(const v1::Evaluation& evaluation) {
  *unsent_.add_evaluations() = evaluation;
  return SendIfDue();
}

absl::Status ProgressReporter::OnCheckpoint(const v1::CheckpointFile& file) {
  *unsent_.mutable_checkpoint() = file;
  return SendIfDue();
}

absl::Status ProgressReporter::BeforeCheckpoint() { return OnEnd(); }

absl::Status ProgressReporter::OnEnd() {
  if (unsent_.ByteSizeLong() == 0) return absl::OkStatus();
  return SendNow();
}

absl::Status ProgressReporter::SendIfDue() {
  const bool due = !last_sent_ || clock_.Now().steady - *last_sent_ >= kInterval;
  return due ? SendNow() : absl::OkStatus();
}

absl::Status ProgressReporter::SendNow() {
  last_sent_ = clock_.Now().steady;
  const absl::Status status = send_(unsent_);
  unsent_.Clear();
  return status;
}

}  // namespace tandem::trainer
