#include "worker/trainer/training_loop.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "worker/model/schedule.h"
#include "worker/model/seed.h"

namespace tandem::trainer {

TrainingLoop::TrainingLoop(Parts parts)
    : parts_(std::move(parts)),
      sampler_(parts_.workload.sampler),
      evaluator_(parts_.workload, parts_.tallies, parts_.reducer.range()) {}

absl::Status TrainingLoop::Run() {
  while (step_ < sampler_.total_steps()) {
    if (absl::Status status = Step(); !status.ok()) return status;
    if (!EvaluationIsDue()) continue;
    if (absl::Status status = Evaluate(); !status.ok()) return status;
  }
  for (TrainingObserver* observer : parts_.observers) {
    if (absl::Status status = observer->OnEnd(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status TrainingLoop::Step() {
  const uint64_t batch = sampler_.At(step_).batch;
  const LogicalRange range = parts_.reducer.range();
  leaves_.clear();
  parts_.reducer.BeginStep(step_);
  for (uint32_t l = range.begin; l < range.end; ++l) {
    RunLogicalRank(LogicalRank(l), sampler_.Share(batch, LogicalRank(l)));
  }
  const absl::StatusOr<ddp::Tally> total = Reduce();
  if (!total.ok()) return total.status();
  Enter(v1::PHASE_OPTIMIZER);
  parts_.workload.optimizer->step();
  return ReportStep(*total);
}

void TrainingLoop::RunLogicalRank(LogicalRank logical_rank, data::Range share) {
  std::optional<model::Outcome> outcome;
  if (!share.empty()) outcome = Forward(logical_rank, share);
  leaves_.emplace_back();
  if (outcome) leaves_.back() = {outcome->loss_sum.item<double>(), outcome->count};
  // Before the last backward, so that the two exchanges share their wait.
  const bool last = logical_rank.value() + 1 == parts_.reducer.range().end;
  if (last) parts_.tallies.Start(ddp::TallyUse::kStep, step_, leaves_);
  if (!outcome) return parts_.reducer.SkipLogicalRank(logical_rank);
  Enter(v1::PHASE_BACKWARD);
  parts_.reducer.BeginLogicalRank(logical_rank);
  outcome->loss_sum.backward();
  parts_.reducer.EndLogicalRank(logical_rank);
}

model::Outcome TrainingLoop::Forward(LogicalRank logical_rank, data::Range share) {
  Enter(v1::PHASE_DATA);
  const data::Batch batch = parts_.workload.dataset->MakeBatch(SamplesAt(share));
  Enter(v1::PHASE_FORWARD);
  model::SeedDefaultGenerator(
      parts_.forward_seed({parts_.workload.spec.seed(), step_, logical_rank, parts_.rank}));
  return parts_.workload.model->Forward(batch);
}

absl::StatusOr<ddp::Tally> TrainingLoop::Reduce() {
  Enter(v1::PHASE_REDUCE);
  const absl::StatusOr<ddp::Tally> total = parts_.tallies.Wait();
  if (!total.ok()) return total.status();
  if (absl::Status status = parts_.reducer.Finish(total->count); !status.ok()) return status;
  if (!std::isfinite(total->loss_sum)) {
    return absl::OutOfRangeError(absl::StrFormat(
        "the loss of step %d is %g; a lower learning rate may help", step_ + 1, total->loss_sum));
  }
  return total;
}

absl::Status TrainingLoop::ReportStep(const ddp::Tally& total) {
  v1::StepSample sample;
  sample.set_epoch(sampler_.At(step_).epoch);
  sample.set_step(++step_);
  sample.set_loss_sum(total.loss_sum);
  sample.set_count(total.count);
  sample.set_learning_rate(model::BaseLearningRate(parts_.workload.spec));
  Enter(v1::PHASE_DATA);
  for (TrainingObserver* observer : parts_.observers) {
    if (absl::Status status = observer->OnStep(sample); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool TrainingLoop::EvaluationIsDue() const {
  const v1::JobSpec& spec = parts_.workload.spec;
  if (!spec.has_evaluate()) return false;
  if (step_ == sampler_.total_steps()) return true;
  const data::Sampler::Position next = sampler_.At(step_);
  return next.batch == 0 && next.epoch % spec.evaluate().every_epochs() == 0;
}

absl::Status TrainingLoop::Evaluate() {
  Enter(v1::PHASE_EVALUATE);
  absl::StatusOr<v1::Evaluation> evaluation = evaluator_.Measure(step_);
  if (!evaluation.ok()) return evaluation.status();
  evaluation->set_epoch(sampler_.At(step_ - 1).epoch);
  for (TrainingObserver* observer : parts_.observers) {
    if (absl::Status status = observer->OnEvaluation(*evaluation); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::vector<int64_t> TrainingLoop::SamplesAt(data::Range places) {
  const uint64_t epoch = sampler_.At(step_).epoch;
  if (order_epoch_ != epoch) {
    order_ = sampler_.Order(epoch);
    order_epoch_ = epoch;
  }
  std::vector<int64_t> samples;
  for (int64_t place = places.begin; place < places.end; ++place) {
    samples.push_back(parts_.workload.split.training[static_cast<size_t>(order_[place])]);
  }
  return samples;
}

}  // namespace tandem::trainer
