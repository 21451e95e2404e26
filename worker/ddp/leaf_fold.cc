#include "worker/ddp/leaf_fold.h"

#include <cstring>

#include "absl/strings/str_format.h"
#include "worker/ddp/reduction_tree.h"

namespace tandem::ddp {
namespace {

using Tree = TreeAccumulator<std::optional<LeafFold::Values>, AddPresent<LeafFold::Add>>;

std::optional<LeafFold::Values> Decode(const std::byte* value, size_t width) {
  if (value == nullptr) return std::nullopt;
  LeafFold::Values values(width);
  std::memcpy(values.data(), value, width * sizeof(double));
  return values;
}

}  // namespace

LeafFold::LeafFold(Transport& transport, uint32_t logical_ranks, uint64_t job_hash)
    : gather_(transport, logical_ranks, job_hash) {}

absl::Status LeafFold::CheckLeaves(const Place& place,
                                   absl::Span<const std::optional<Values>> leaves) const {
  const auto refused = [&](const std::string& what) {
    return absl::InvalidArgumentError(
        absl::StrFormat("fold %d of step %d: %s", place.operation, place.step, what));
  };
  if (place.operation >= kMaxOperations) return refused("the number of the operation is too large");
  if (leaves.size() != range().end - range().begin) {
    return refused(absl::StrFormat("%d leaves given for logical ranks %d to %d", leaves.size(),
                                   range().begin, range().end));
  }
  for (const std::optional<Values>& leaf : leaves) {
    if (!leaf || leaf->size() == place.width) continue;
    return refused(absl::StrFormat("a leaf has %d values, not %d", leaf->size(), place.width));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<LeafFold::Values>> LeafFold::Fold(
    const Place& place, absl::Span<const std::optional<Values>> leaves, Add add) {
  if (absl::Status status = CheckLeaves(place, leaves); !status.ok()) return status;

  Tree own({add});
  for (uint32_t i = 0; i < leaves.size(); ++i) own.Push({range().begin + i}, leaves[i]);
  gather_.Prepare(place.step, ExchangeHeader::kFirstFold + place.operation, place.width);
  for (size_t i = 0; i < own.nodes().size(); ++i) {
    if (const auto& value = own.nodes()[i].value) gather_.Put(i, value->data());
  }
  gather_.Start();
  if (absl::Status status = gather_.Wait(); !status.ok()) return status;

  Tree root({add});
  for (const auto& [block, value] : gather_.blocks()) root.Push(block, Decode(value, place.width));
  return root.nodes().front().value;
}

}  // namespace tandem::ddp
