#include "worker/trainer/leaf.h"

namespace tandem::trainer {

uint64_t ForwardSeedOf(const PassParts& parts, uint64_t step, LogicalRank logical_rank,
                       uint64_t segment) {
  const ForwardPass pass = {parts.workload.spec.seed(), step, logical_rank, parts.rank, segment};
  const LogicalRank first(parts.reducer.range().begin);
  return parts.mistakes.Seed(parts.hooks.forward_seed, pass, first);
}

LogicalRank KeeperOfBuffers(const PassParts& parts, uint64_t step) {
  const data::Sampler& sampler = parts.workload.sampler;
  return sampler.FirstWithShare(sampler.At(step).batch);
}

std::optional<ddp::Tally> TallyOf(const std::optional<data::LoadedShare>& share,
                                  const std::optional<model::Outcome>& outcome) {
  if (!share) return std::nullopt;
  return ddp::Tally{.loss_sum = outcome->loss_sum.item<double>(),
                    .count = outcome->count,
                    .correct = 0,
                    .samples_digest = ddp::DigestOfSamples(share->samples)};
}

void StartStepTallies(const PassParts& parts, uint64_t step,
                      std::vector<std::optional<ddp::Tally>> tallies) {
  if (parts.pause_wanted) {
    for (std::optional<ddp::Tally>& tally : tallies) {
      // A rank without samples in this step is heard as well; it may never have any.
      if (!tally) tally.emplace();
      tally->pauses = 1;
    }
  }
  parts.tallies.Start(ddp::TallyUse::kStep, step, tallies);
}

}  // namespace tandem::trainer
