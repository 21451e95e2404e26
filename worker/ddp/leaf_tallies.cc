#include "worker/ddp/leaf_tallies.h"

#include <cstring>

#include "absl/strings/str_format.h"
#include "common/keyed_hash.h"
#include "worker/ddp/exchange_header.h"
#include "worker/ddp/reduction_tree.h"

namespace tandem::ddp {
namespace {

// Of a logical rank without samples.
bool IsOnlyAPause(const Tally& tally) { return tally == Tally{.pauses = tally.pauses}; }

Tally WithPauses(Tally tally, uint64_t more) {
  tally.pauses += more;
  return tally;
}

struct AddTallies {
  Tally operator()(const Tally& left, const Tally& right) const {
    // Nothing is added, for the reason of AddPresent, and nothing mixed into the digest of the samples.
    if (IsOnlyAPause(left)) return WithPauses(right, left.pauses);
    if (IsOnlyAPause(right)) return WithPauses(left, right.pauses);
    return {
        .loss_sum = left.loss_sum + right.loss_sum,
        .count = left.count + right.count,
        .correct = left.correct + right.correct,
        .samples_digest = MixKeys(RandomUse::kReceipt, left.samples_digest, right.samples_digest),
        .pauses = left.pauses + right.pauses,
    };
  }
};

using TallyTree = TreeAccumulator<std::optional<Tally>, AddPresent<AddTallies>>;

// Of a tally, as it travels.
constexpr size_t kElements = sizeof(Tally) / sizeof(uint64_t);
static_assert(sizeof(Tally) == kElements * sizeof(uint64_t));

std::optional<Tally> Decode(const std::byte* value) {
  if (value == nullptr) return std::nullopt;
  Tally tally;
  std::memcpy(&tally, value, sizeof(tally));
  return tally;
}

uint32_t BucketOf(TallyUse use) {
  return use == TallyUse::kStep ? ExchangeHeader::kStepTallies : ExchangeHeader::kEvaluationTallies;
}

}  // namespace

uint64_t DigestOfSamples(absl::Span<const int64_t> samples) {
  uint64_t digest = MixKeys(RandomUse::kReceipt, samples.size());
  for (const int64_t sample : samples) {
    digest = MixKeys(RandomUse::kReceipt, digest, static_cast<uint64_t>(sample));
  }
  return digest;
}

LeafTallies::LeafTallies(Transport& transport, uint32_t logical_ranks, uint64_t job_hash)
    : gather_(transport, logical_ranks, job_hash),
      start_status_(absl::FailedPreconditionError("LeafTallies::Wait without Start")) {}

void LeafTallies::Start(TallyUse use, uint64_t step,
                        absl::Span<const std::optional<Tally>> leaves) {
  const LogicalRange range = gather_.range();
  if (leaves.size() != range.end - range.begin) {
    start_status_ = absl::InvalidArgumentError(
        absl::StrFormat("%d tallies given at step %d for logical ranks %d to %d", leaves.size(),
                        step, range.begin, range.end));
    return;
  }
  start_status_ = absl::OkStatus();
  TallyTree tree({});
  for (uint32_t i = 0; i < leaves.size(); ++i) tree.Push({range.begin + i}, leaves[i]);
  gather_.Prepare(step, BucketOf(use), kElements);
  for (size_t i = 0; i < tree.nodes().size(); ++i) {
    if (const auto& tally = tree.nodes()[i].value) gather_.Put(i, &*tally);
  }
  gather_.Start();
}

absl::StatusOr<Tally> LeafTallies::Wait() {
  if (!start_status_.ok()) return start_status_;
  start_status_ = absl::FailedPreconditionError("LeafTallies::Wait without Start");
  if (absl::Status status = gather_.Wait(); !status.ok()) return status;
  TallyTree tree({});
  for (const auto& [block, value] : gather_.blocks()) tree.Push(block, Decode(value));
  return tree.nodes().front().value.value_or(Tally());
}

}  // namespace tandem::ddp
