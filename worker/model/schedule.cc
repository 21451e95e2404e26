#include "worker/model/schedule.h"

#include <cmath>
#include <numbers>

namespace tandem::model {
namespace {

double OptimizersLearningRate(const v1::Optimizer& spec) {
  if (spec.has_sgd()) return spec.sgd().lr();
  return spec.has_adam() ? spec.adam().lr() : spec.adamw().lr();
}

double Warmup(uint64_t warmup_steps, uint64_t step) {
  if (step >= warmup_steps) return 1;
  return static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
}

double Cosine(const v1::Schedule& schedule, uint64_t step, uint64_t total_steps) {
  if (step <= schedule.warmup_steps()) return 1;
  const double done = static_cast<double>(step - schedule.warmup_steps()) /
                      static_cast<double>(total_steps - schedule.warmup_steps());
  const double last = schedule.cosine().final_factor();
  return last + (1 - last) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

double Falls(const v1::StepSchedule& schedule, uint64_t step) {
  return std::pow(schedule.factor(), static_cast<double>(step / schedule.every_steps()));
}

}  // namespace

double BaseLearningRate(const v1::JobSpec& spec) {
  const double rate = OptimizersLearningRate(spec.optimizer());
  if (spec.scale_lr() != v1::SCALE_LR_LINEAR && spec.scale_lr() != v1::SCALE_LR_SQRT) return rate;
  const double ratio = static_cast<double>(spec.global_batch_size()) /
                       static_cast<double>(spec.base_global_batch_size());
  return rate * (spec.scale_lr() == v1::SCALE_LR_LINEAR ? ratio : std::sqrt(ratio));
}

double LearningRateFactor(const v1::Schedule& schedule, uint64_t step, uint64_t total_steps) {
  double factor = Warmup(schedule.warmup_steps(), step);
  if (schedule.has_cosine()) factor *= Cosine(schedule, step, total_steps);
  if (schedule.has_step()) factor *= Falls(schedule.step(), step);
  return factor;
}

}  // namespace tandem::model
