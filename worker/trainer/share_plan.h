#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "worker/data/sampler.h"
#include "worker/trainer/mistakes.h"

namespace tandem::trainer {

// Which samples each logical rank trains on at each step, by their ids in the data set. Remembers
// the order of one epoch. Not thread-safe.
class SharePlan {
 public:
  // `training`: ids of the samples to train on. All outlive it.
  SharePlan(const data::Sampler& sampler, const std::vector<int64_t>& training,
            const Mistakes& mistakes)
      : sampler_(sampler), training_(training), mistakes_(mistakes) {}

  uint64_t EpochOf(uint64_t step) const { return sampler_.At(step).epoch; }
  // `step` counts from 0. Empty where the batch is too short to reach this logical rank.
  std::vector<int64_t> SamplesOf(uint64_t step, LogicalRank logical_rank);

 private:
  const data::Sampler& sampler_;
  const std::vector<int64_t>& training_;
  const Mistakes& mistakes_;
  std::optional<uint64_t> epoch_;
  std::vector<int64_t> order_;  // of that epoch
};

}  // namespace tandem::trainer
