#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "common/logical_ranks.h"
#include "tandem/v1/job.pb.h"
#include "worker/ddp/leaf_tallies.h"
#include "worker/trainer/position_reporter.h"
#include "worker/trainer/workload.h"

namespace tandem::trainer {

// Measures the model on the held-out samples. Logical rank l always measures the same contiguous
// part of them, kChunkSamples at a time, and parts are added in the tree: the same bits at every
// world size.
class Evaluator {
 public:
  static constexpr int64_t kChunkSamples = 256;

  // All outlive it; `range` is this rank's.
  Evaluator(const Workload& workload, ddp::LeafTallies& tallies, LogicalRange range,
            PositionReporter& position)
      : workload_(workload), tallies_(tallies), range_(range), position_(position) {}

  // Collective. `step`: steps done. The epoch is left unset. The model is in training mode before
  // and after a success.
  //   InvalidArgument  no held-out target counts.
  //   others           as LeafTallies and data::LoadShare.
  absl::StatusOr<v1::Evaluation> Measure(uint64_t step);

 private:
  absl::StatusOr<std::optional<ddp::Tally>> MeasureLogicalRank(uint32_t logical_rank) const;
  absl::StatusOr<ddp::Tally> MeasureChunk(data::Range chunk) const;

  const Workload& workload_;
  ddp::LeafTallies& tallies_;
  const LogicalRange range_;
  PositionReporter& position_;
};

}  // namespace tandem::trainer
