#include "worker/trainer/parameter_update.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "worker/model/clip.h"
#include "worker/model/optimizer.h"
#include "worker/model/schedule.h"

namespace tandem::trainer {
namespace {

// A gradient that overflows with the loss as it is, or divided by some more, was not finite before.
constexpr double kSmallestScale = 1.0 / 1024;

}  // namespace

ParameterUpdate::ParameterUpdate(Workload& workload, const Mistakes& mistakes, bool measure_norm)
    : workload_(workload),
      mistakes_(mistakes),
      parameters_(workload.model->Parameters()),
      measure_norm_(measure_norm),
      scales_loss_(workload.spec.precision() == v1::PRECISION_FP16) {}

absl::StatusOr<ParameterUpdate::Report> ParameterUpdate::Apply(uint64_t step) {
  const v1::JobSpec& spec = workload_.spec;
  Report report;
  report.learning_rate =
      model::BaseLearningRate(spec) *
      model::LearningRateFactor(spec.schedule(), step, workload_.sampler.total_steps());
  MultiplyGradients(mistakes_.GradientFactor() / loss_scale());
  if (measure_norm_ || scales_loss_ || spec.has_clip_norm()) {
    constexpr double kAny = std::numeric_limits<double>::infinity();
    const double longest = spec.has_clip_norm() ? spec.clip_norm() : kAny;
    report.gradient_norm = model::ClipByNorm(parameters_, longest);
  }
  if (scales_loss_) {
    const bool is_finite = std::isfinite(report.gradient_norm);
    scaler_.Update(is_finite);
    if (scaler_.scale() < kSmallestScale) {
      return absl::OutOfRangeError(absl::StrFormat(
          "the gradient of step %d is not finite in fp16, however the loss is scaled; bf16 may do",
          step + 1));
    }
    if (!is_finite) return report;
  }
  model::SetLearningRate(*workload_.optimizer, report.learning_rate);
  workload_.optimizer->step();
  return report;
}

void ParameterUpdate::MultiplyGradients(double factor) {
  if (factor == 1) return;
  for (const ddp::NamedTensor& parameter : parameters_) {
    at::Tensor& gradient = parameter.tensor.mutable_grad();
    if (gradient.defined()) gradient.mul_(factor);
  }
}

}  // namespace tandem::trainer
