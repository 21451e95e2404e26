#include "worker/trainer/evaluator.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "worker/data/loader.h"
#include "worker/model/step_buffers.h"

namespace tandem::trainer {

absl::StatusOr<v1::Evaluation> Evaluator::Measure(uint64_t step) {
  position_.Enter(step, v1::PHASE_EVALUATE);
  std::vector<std::optional<ddp::Tally>> leaves;
  // Measuring leaves no trace, whatever a model of the user's does to its buffers.
  model::StepBuffers buffers(workload_.model->Buffers());
  buffers.BeginStep(LogicalRank(0));
  workload_.model->SetTraining(false);
  for (uint32_t l = range_.begin; l < range_.end; ++l) {
    const auto leaf = MeasureLogicalRank(l);
    if (!leaf.ok()) return leaf.status();
    leaves.push_back(*leaf);
  }
  workload_.model->SetTraining(true);
  buffers.EndStep();
  position_.Enter(step, v1::PHASE_REDUCE);
  tallies_.Start(ddp::TallyUse::kEvaluation, step, leaves);
  const absl::StatusOr<ddp::Tally> total = tallies_.Wait();
  if (!total.ok()) return total.status();
  if (total->count == 0) {
    return absl::InvalidArgumentError(
        "evaluate: nothing can be measured: every held-out target is left out (-100)");
  }
  const auto count = static_cast<double>(total->count);
  v1::Evaluation evaluation;
  evaluation.set_step(step);
  evaluation.set_loss(total->loss_sum / count);
  if (workload_.training.dataset->shape().classes > 0) {
    evaluation.set_accuracy(static_cast<double>(total->correct) / count);
  }
  evaluation.set_samples(total->count);
  return evaluation;
}

absl::StatusOr<std::optional<ddp::Tally>> Evaluator::MeasureLogicalRank(
    uint32_t logical_rank) const {
  const data::Range all = {0, static_cast<int64_t>(workload_.split.held_out.size())};
  const data::Range part = data::PartOf(all, logical_rank, workload_.spec.logical_ranks());
  if (part.empty()) return std::nullopt;
  ddp::Tally sum;
  for (int64_t begin = part.begin; begin < part.end; begin += kChunkSamples) {
    const auto chunk = MeasureChunk({begin, std::min(begin + kChunkSamples, part.end)});
    if (!chunk.ok()) return chunk.status();
    sum.loss_sum += chunk->loss_sum;
    sum.count += chunk->count;
    sum.correct += chunk->correct;
  }
  return sum;
}

absl::StatusOr<ddp::Tally> Evaluator::MeasureChunk(data::Range chunk) const {
  const at::NoGradGuard no_grad;
  const auto begin = workload_.split.held_out.begin();
  const data::Share share = {.epoch = std::nullopt,
                             .samples = {begin + chunk.begin, begin + chunk.end}};
  const Workload::Data& data = workload_.measured();
  const auto batch = data::LoadShare(*data.dataset, data.transforms, share);
  if (!batch.ok()) return batch.status();
  const model::Outcome outcome = workload_.model->Forward(**batch);
  const int64_t correct = outcome.correct.defined() ? outcome.correct.item<int64_t>() : 0;
  return ddp::Tally{.loss_sum = outcome.loss_sum.item<double>(),
                    .count = outcome.count,
                    .correct = static_cast<uint64_t>(correct)};
}

}  // namespace tandem::trainer
