#pragma once

#include <cstdint>
#include <optional>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "worker/ddp/block_gather.h"
#include "worker/ddp/transport.h"

namespace tandem::ddp {

// What one logical rank counted over its share. The loss that is reported is loss_sum / count of
// the total.
struct Tally {
  double loss_sum = 0;
  uint64_t count = 0;    // samples (or tokens) in loss_sum
  uint64_t correct = 0;  // of those; evaluation only
  // Which samples, in which order: of a logical rank DigestOfSamples of them. That of a node is
  // MixKeys(kReceipt, left, right).
  uint64_t samples_digest = 0;
  // Of a step: how many logical ranks are on a rank that has been asked to pause. All ranks see the same
  // total, so they stop after the same step. A tally of nothing else changes nothing else of the total.
  uint64_t pauses = 0;

  friend bool operator==(const Tally&, const Tally&) = default;
};

uint64_t DigestOfSamples(absl::Span<const int64_t> samples);

// What a tally is of. Ranks that measure while others train must not be added up.
enum class TallyUse { kStep, kEvaluation };

// Adds the tallies of all logical ranks in the tree of reduction_tree.h: the same bits on every
// rank, at every world size. One small exchange, which may run while the rank does other things:
//
//   tallies.Start(use, step, leaves);     // after the last forward
//   loss_sum.backward();
//   StatusOr<Tally> total = tallies.Wait();
//
// Not thread-safe; every rank makes the same calls, in the same order among its other exchanges.
class LeafTallies {
 public:
  // `transport` outlives it. CheckTreeShape(world size, logical_ranks) is OK. `job_hash` as in
  // GradientReducerOptions.
  LeafTallies(Transport& transport ABSL_ATTRIBUTE_LIFETIME_BOUND, uint32_t logical_ranks,
              uint64_t job_hash);

  // `leaves`: this rank's logical ranks in order, absent (or only a pause) where the share was empty.
  // `step`: any number that is the same on every rank. Wait follows before the next Start.
  void Start(TallyUse use, uint64_t step, absl::Span<const std::optional<Tally>> leaves);

  // The total over all logical ranks; all zero if every one was absent.
  //   InvalidArgument     `leaves` had another length than this rank's range.
  //   FailedPrecondition  a rank is at another step or use, or has other constants: names rank and
  //                       step; or there was no Start.
  //   others              as Transport.
  absl::StatusOr<Tally> Wait();

 private:
  BlockGather gather_;

  // From Start to Wait: why nothing is under way.
  absl::Status start_status_;
};

}  // namespace tandem::ddp
