#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/logical_ranks.h"
#include "worker/ddp/block_gather.h"
#include "worker/ddp/transport.h"

namespace tandem::ddp {

// Combines small vectors of all logical ranks in the tree of reduction_tree.h, with the caller's
// own addition: the same bits on every rank, at every world size. For statistics in the middle of
// a step, such as those of synchronized batch normalization.
//
// Not thread-safe; every rank makes the same calls, in the same order among its other exchanges.
class LeafFold {
 public:
  using Values = std::vector<double>;
  // Of two vectors of `width` values, in this order; returns one of the same width. Must depend on
  // nothing else.
  using Add = absl::FunctionRef<Values(const Values& left, const Values& right)>;

  // What is folded: the same on every rank, and compared before values are used.
  struct Place {
    uint64_t step = 0;
    uint32_t operation = 0;  // the caller's number, below kMaxOperations; differs within a step
    size_t width = 0;        // values per logical rank
  };
  static constexpr uint32_t kMaxOperations = ExchangeHeader::kMaxFolds;

  // `transport` outlives it. CheckTreeShape(world size, logical_ranks) is OK. `job_hash` as in
  // GradientReducerOptions.
  LeafFold(Transport& transport ABSL_ATTRIBUTE_LIFETIME_BOUND, uint32_t logical_ranks,
           uint64_t job_hash);

  // The logical ranks that this rank executes.
  LogicalRange range() const { return gather_.range(); }

  // Collective, one small all-gather. `leaves`: one per logical rank of range(), in order, absent
  // where it has nothing to say. A node with one absent child is the other child, unchanged;
  // absent in the end if all are.
  //   InvalidArgument     `leaves` does not fit range(), a leaf has another width or the number of
  //                       the operation is too large. Peers then wait for this rank: abort the
  //                       transport.
  //   FailedPrecondition  a rank is at another step or operation, or has other constants: names
  //                       rank and step.
  //   others              as Transport.
  absl::StatusOr<std::optional<Values>> Fold(const Place& place,
                                             absl::Span<const std::optional<Values>> leaves,
                                             Add add);

 private:
  absl::Status CheckLeaves(const Place& place,
                           absl::Span<const std::optional<Values>> leaves) const;

  BlockGather gather_;
};

}  // namespace tandem::ddp
