#include "worker/trainer/progress_printer.h"

#include "absl/strings/str_format.h"

namespace tandem::trainer {

absl::Status ProgressPrinter::OnStep(const v1::StepSample& sample) {
  sample_ = sample;
  const absl::Duration now = clock_.Now().steady;
  if (!last_line_ || now - last_line_->at >= kInterval) PrintStep(now);
  return absl::OkStatus();
}

absl::Status ProgressPrinter::OnEvaluation(const v1::Evaluation& evaluation) {
  evaluation_ = evaluation;
  return absl::OkStatus();
}

absl::Status ProgressPrinter::OnCheckpoint(const v1::CheckpointFile& file) {
  out_ << "saved " << file.path() << std::endl;
  return absl::OkStatus();
}

absl::Status ProgressPrinter::OnEnd() {
  const bool measured_since = last_line_ && evaluation_.step() == last_line_->step;
  if (!last_line_ || sample_.step() != last_line_->step || measured_since) {
    PrintStep(clock_.Now().steady);
  }
  return absl::OkStatus();
}

void ProgressPrinter::PrintStep(absl::Duration now) {
  out_ << absl::StrFormat("step %d/%d  epoch %d  loss %.6f", sample_.step(), total_steps_,
                          sample_.epoch(),
                          sample_.loss_sum() / static_cast<double>(sample_.count()));
  if (evaluation_.step() > 0) {
    out_ << absl::StrFormat("  held-out loss %.6f", evaluation_.loss());
    if (evaluation_.has_accuracy()) {
      out_ << absl::StrFormat(" accuracy %.4f", evaluation_.accuracy());
    }
    out_ << absl::StrFormat(" (after step %d)", evaluation_.step());
  }
  if (last_line_ && now > last_line_->at) {
    const auto steps = static_cast<double>(sample_.step() - last_line_->step);
    out_ << absl::StrFormat("  %.0f steps/s", steps / absl::ToDoubleSeconds(now - last_line_->at));
  }
  out_ << std::endl;
  last_line_ = Line{sample_.step(), now};
}

}  // namespace tandem::trainer
