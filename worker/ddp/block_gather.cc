#include "worker/ddp/block_gather.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tandem::ddp {
namespace {

using Presence = uint64_t;  // as wide as an element, so that those are aligned

size_t BlockBytes(size_t elements) { return sizeof(Presence) + elements * sizeof(uint64_t); }

}  // namespace

BlockGather::BlockGather(Transport& transport, uint32_t logical_ranks, uint64_t job_hash)
    : transport_(transport),
      logical_ranks_(logical_ranks),
      job_hash_(job_hash),
      blocks_per_slot_(MaxBlocksPerRank(transport.world_size(), logical_ranks)) {}

LogicalRange BlockGather::RangeOf(Rank rank) const {
  return LogicalRangeOf(rank, transport_.world_size(), logical_ranks_);
}

ExchangeHeader BlockGather::HeaderOf(Rank rank) const {
  return {.job_hash = job_hash_,
          .step = step_,
          .elements = elements_,
          .bucket = bucket_,
          .logical_ranks = logical_ranks_,
          .leaves = RangeOf(rank)};
}

void BlockGather::Prepare(uint64_t step, uint32_t bucket, size_t elements) {
  step_ = step;
  bucket_ = bucket;
  elements_ = elements;
  slot_bytes_ = sizeof(ExchangeHeader) + blocks_per_slot_ * BlockBytes(elements);
  slots_.assign(transport_.world_size() * slot_bytes_, std::byte{0});
  const ExchangeHeader header = HeaderOf(transport_.rank());
  std::memcpy(slots_.data() + transport_.rank().value() * slot_bytes_, &header, sizeof(header));
}

std::byte* BlockGather::BlockOf(size_t own_index) {
  return slots_.data() + transport_.rank().value() * slot_bytes_ + sizeof(ExchangeHeader) +
         own_index * BlockBytes(elements_);
}

void BlockGather::Put(size_t index, const void* value) {
  const Presence present = 1;
  std::memcpy(BlockOf(index), &present, sizeof(present));
  std::memcpy(BlockOf(index) + sizeof(present), value, elements_ * sizeof(uint64_t));
}

void BlockGather::Start() { pending_ = transport_.StartAllGather(absl::MakeSpan(slots_)); }

absl::Status BlockGather::Wait() {
  if (absl::Status status = std::exchange(pending_, nullptr)->Wait(); !status.ok()) {
    const std::string place = PlaceOf(HeaderOf(transport_.rank()));
    return {status.code(), absl::StrCat(place, ": ", status.message())};
  }
  return CheckHeaders();
}

absl::Status BlockGather::CheckHeaders() const {
  for (uint32_t rank = 0; rank < transport_.world_size(); ++rank) {
    ExchangeHeader received;
    std::memcpy(&received, SlotOf(Rank(rank)), sizeof(received));
    absl::Status status = CheckHeader(Rank(rank), HeaderOf(Rank(rank)), received);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::vector<BlockGather::GatheredBlock> BlockGather::blocks() const {
  std::vector<GatheredBlock> blocks;
  for (uint32_t rank = 0; rank < transport_.world_size(); ++rank) {
    const std::byte* at = SlotOf(Rank(rank)) + sizeof(ExchangeHeader);
    for (const Block& block : AlignedBlocks(RangeOf(Rank(rank)))) {
      Presence present;
      std::memcpy(&present, at, sizeof(present));
      blocks.push_back({block, present ? at + sizeof(present) : nullptr});
      at += BlockBytes(elements_);
    }
  }
  return blocks;
}

}  // namespace tandem::ddp
