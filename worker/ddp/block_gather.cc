#include "worker/ddp/block_gather.h"

#include <cstring>

#include "absl/types/span.h"

namespace tandem::ddp {
namespace {

using Presence = uint64_t;  // as wide as an element, so that those are aligned

size_t BlockBytes(size_t elements) { return sizeof(Presence) + elements * sizeof(uint64_t); }

}  // namespace

BlockGather::BlockGather(Transport& transport, uint32_t logical_ranks, uint64_t job_hash)
    : transport_(transport),
      blocks_per_slot_(MaxBlocksPerRank(transport.world_size(), logical_ranks)),
      header_{.job_hash = job_hash, .logical_ranks = logical_ranks},
      gather_(transport) {}

LogicalRange BlockGather::RangeOf(Rank rank) const {
  return LogicalRangeOf(rank, transport_.world_size(), header_.logical_ranks);
}

void BlockGather::Prepare(uint64_t step, uint32_t bucket, size_t elements) {
  header_.step = step;
  header_.bucket = bucket;
  header_.elements = elements;
  const size_t slot_bytes = sizeof(ExchangeHeader) + blocks_per_slot_ * BlockBytes(elements);
  slots_.assign(transport_.world_size() * slot_bytes, std::byte{0});
  gather_.UseSlots(absl::MakeSpan(slots_));
}

std::byte* BlockGather::BlockOf(size_t own_index) const {
  return gather_.PayloadOf(transport_.rank()) + own_index * BlockBytes(header_.elements);
}

void BlockGather::Put(size_t index, const void* value) {
  const Presence present = 1;
  std::memcpy(BlockOf(index), &present, sizeof(present));
  std::memcpy(BlockOf(index) + sizeof(present), value, header_.elements * sizeof(uint64_t));
}

std::vector<BlockGather::GatheredBlock> BlockGather::blocks() const {
  std::vector<GatheredBlock> blocks;
  for (uint32_t rank = 0; rank < transport_.world_size(); ++rank) {
    const std::byte* at = gather_.PayloadOf(Rank(rank));
    for (const Block& block : AlignedBlocks(RangeOf(Rank(rank)))) {
      Presence present;
      std::memcpy(&present, at, sizeof(present));
      blocks.push_back({block, present ? at + sizeof(present) : nullptr});
      at += BlockBytes(header_.elements);
    }
  }
  return blocks;
}

}  // namespace tandem::ddp
