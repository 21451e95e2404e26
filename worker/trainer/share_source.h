#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "common/logical_ranks.h"
#include "worker/data/loader.h"
#include "worker/trainer/mistakes.h"
#include "worker/trainer/workload.h"

namespace tandem::trainer {

// The shares of this rank, loaded ahead of their use. Not thread-safe.
class ShareSource {
 public:
  // `workload` and `mistakes` outlive it. The first share is that of range.begin at `first_step`.
  ShareSource(const Workload& workload, const Mistakes& mistakes, LogicalRange range,
              uint64_t first_step);

  // Step by step, logical rank by logical rank. None where the batch is too short to reach it.
  // Errors as data::Loader::Next.
  absl::StatusOr<std::optional<data::LoadedShare>> Next() { return loader_.Next(); }

 private:
  data::Loader loader_;
};

}  // namespace tandem::trainer
