#include "worker/ddp/leaf_tallies.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "worker/ddp/exchange_header.h"
#include "worker/ddp/reduction_tree.h"

namespace tandem::ddp {
namespace {

// An optional Tally, as it travels. `present` is 8 bytes so that none is left undefined.
struct WireTally {
  uint64_t present = 0;
  Tally tally;
};

struct AddTallies {
  Tally operator()(const Tally& left, const Tally& right) const {
    return {left.loss_sum + right.loss_sum, left.count + right.count, left.correct + right.correct};
  }
};

using TallyTree = TreeAccumulator<std::optional<Tally>, AddPresent<AddTallies>>;

WireTally ReadTally(const std::byte* slot, size_t index) {
  WireTally wire;
  std::memcpy(&wire, slot + sizeof(ExchangeHeader) + index * sizeof(wire), sizeof(wire));
  return wire;
}

void WriteTally(const std::optional<Tally>& tally, std::byte* slot, size_t index) {
  const WireTally wire = {.present = tally.has_value(), .tally = tally.value_or(Tally())};
  std::memcpy(slot + sizeof(ExchangeHeader) + index * sizeof(wire), &wire, sizeof(wire));
}

}  // namespace

LeafTallies::LeafTallies(Transport& transport, uint32_t logical_ranks, uint64_t job_hash)
    : transport_(transport),
      logical_ranks_(logical_ranks),
      job_hash_(job_hash),
      range_(LogicalRangeOf(transport.rank(), transport.world_size(), logical_ranks)),
      slot_bytes_(sizeof(ExchangeHeader) +
                  MaxBlocksPerRank(transport.world_size(), logical_ranks) * sizeof(WireTally)),
      slots_(slot_bytes_ * transport.world_size()),
      start_status_(absl::FailedPreconditionError("LeafTallies::Wait without Start")) {}

LeafTallies::~LeafTallies() = default;

ExchangeHeader LeafTallies::HeaderOf(LogicalRange leaves) const {
  return {.job_hash = job_hash_,
          .step = step_,
          .elements = 1,
          .bucket = use_ == TallyUse::kStep ? ExchangeHeader::kStepTallies
                                            : ExchangeHeader::kEvaluationTallies,
          .logical_ranks = logical_ranks_,
          .leaves = leaves};
}

void LeafTallies::Start(TallyUse use, uint64_t step,
                        absl::Span<const std::optional<Tally>> leaves) {
  use_ = use;
  step_ = step;
  start_status_ = absl::OkStatus();
  if (leaves.size() != range_.end - range_.begin) {
    start_status_ = absl::InvalidArgumentError(
        absl::StrFormat("%d tallies given at step %d for logical ranks %d to %d", leaves.size(),
                        step, range_.begin, range_.end));
    return;
  }
  TallyTree tree({});
  for (size_t i = 0; i < leaves.size(); ++i) {
    tree.Push({range_.begin + static_cast<uint32_t>(i)}, leaves[i]);
  }
  std::byte* slot = slots_.data() + transport_.rank().value() * slot_bytes_;
  const ExchangeHeader header = HeaderOf(range_);
  std::memcpy(slot, &header, sizeof(header));
  for (size_t i = 0; i < tree.nodes().size(); ++i) WriteTally(tree.nodes()[i].value, slot, i);
  pending_ = transport_.StartAllGather(absl::MakeSpan(slots_));
}

absl::StatusOr<Tally> LeafTallies::Wait() {
  if (!start_status_.ok()) return start_status_;
  start_status_ = absl::FailedPreconditionError("LeafTallies::Wait without Start");
  if (absl::Status status = std::exchange(pending_, nullptr)->Wait(); !status.ok()) {
    return absl::Status(status.code(),
                        absl::StrFormat("tallies of step %d: %s", step_, status.message()));
  }

  TallyTree tree({});
  for (uint32_t rank = 0; rank < transport_.world_size(); ++rank) {
    const std::byte* slot = slots_.data() + rank * slot_bytes_;
    const LogicalRange range = LogicalRangeOf(Rank(rank), transport_.world_size(), logical_ranks_);
    ExchangeHeader received;
    std::memcpy(&received, slot, sizeof(received));
    const ExchangeHeader expected = HeaderOf(range);
    if (absl::Status status = CheckHeader(Rank(rank), expected, received); !status.ok())
      return status;
    size_t index = 0;
    for (const Block& block : AlignedBlocks(range)) {
      const WireTally wire = ReadTally(slot, index++);
      tree.Push(block, wire.present ? std::optional(wire.tally) : std::nullopt);
    }
  }
  return tree.nodes().front().value.value_or(Tally());
}

}  // namespace tandem::ddp
