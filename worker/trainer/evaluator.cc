#include "worker/trainer/evaluator.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "worker/model/precision.h"

namespace tandem::trainer {

absl::StatusOr<v1::Evaluation> Evaluator::Measure(uint64_t step) {
  std::vector<std::optional<ddp::Tally>> leaves;
  workload_.model->SetTraining(false);
  for (uint32_t l = range_.begin; l < range_.end; ++l) leaves.push_back(MeasureLogicalRank(l));
  workload_.model->SetTraining(true);
  tallies_.Start(ddp::TallyUse::kEvaluation, step, leaves);
  const absl::StatusOr<ddp::Tally> total = tallies_.Wait();
  if (!total.ok()) return total.status();
  const auto count = static_cast<double>(total->count);
  v1::Evaluation evaluation;
  evaluation.set_step(step);
  evaluation.set_loss(total->loss_sum / count);
  if (workload_.dataset->shape().classes > 0) {
    evaluation.set_accuracy(static_cast<double>(total->correct) / count);
  }
  evaluation.set_samples(total->count);
  return evaluation;
}

std::optional<ddp::Tally> Evaluator::MeasureLogicalRank(uint32_t logical_rank) const {
  const data::Range all = {0, static_cast<int64_t>(workload_.split.held_out.size())};
  const data::Range part = data::PartOf(all, logical_rank, workload_.spec.logical_ranks());
  if (part.empty()) return std::nullopt;
  ddp::Tally sum;
  for (int64_t begin = part.begin; begin < part.end; begin += kChunkSamples) {
    const ddp::Tally chunk = MeasureChunk({begin, std::min(begin + kChunkSamples, part.end)});
    sum.loss_sum += chunk.loss_sum;
    sum.count += chunk.count;
    sum.correct += chunk.correct;
  }
  return sum;
}

ddp::Tally Evaluator::MeasureChunk(data::Range chunk) const {
  const at::NoGradGuard no_grad;
  const auto samples =
      absl::MakeConstSpan(workload_.split.held_out).subspan(chunk.begin, chunk.size());
  const data::Dataset& dataset =
      workload_.held_out == nullptr ? *workload_.dataset : *workload_.held_out;
  const model::PrecisionGuard precision(workload_.spec.precision());
  const model::Outcome outcome = workload_.model->Forward(dataset.MakeBatch(samples));
  const int64_t correct = outcome.correct.defined() ? outcome.correct.item<int64_t>() : 0;
  return {outcome.loss_sum.item<double>(), outcome.count, static_cast<uint64_t>(correct)};
}

}  // namespace tandem::trainer
