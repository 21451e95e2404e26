#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/logical_ranks.h"
#include "worker/data/dataset.h"
#include "worker/data/loader.h"
#include "worker/trainer/mistakes.h"
#include "worker/trainer/share_plan.h"
#include "worker/trainer/workload.h"

namespace tandem::trainer {

// What a logical rank trains on in one step.
struct LoadedShare {
  std::vector<int64_t> samples;  // ids in the data set
  data::Batch batch;
};

// The shares of this rank, loaded ahead of their use. Not thread-safe.
class ShareSource {
 public:
  // `workload` and `mistakes` outlive it. The first share is that of range.begin at `first_step`.
  ShareSource(const Workload& workload, const Mistakes& mistakes, LogicalRange range,
              uint64_t first_step);

  // Step by step, logical rank by logical rank. None where the batch is too short to reach it.
  // Errors as data::Loader::Next.
  absl::StatusOr<std::optional<LoadedShare>> Next(uint64_t step, LogicalRank logical_rank);

 private:
  SharePlan plan_;  // the loader has one of its own, which is ahead
  data::Loader loader_;
};

}  // namespace tandem::trainer
