#include "worker/ddp/reduction_tree.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace tandem::ddp {

std::vector<Block> AlignedBlocks(LogicalRange range) {
  std::vector<Block> blocks;
  for (uint32_t begin = range.begin; begin < range.end; begin += blocks.back().size) {
    const uint32_t fits = std::bit_floor(range.end - begin);
    const uint32_t aligned = begin == 0 ? fits : begin & -begin;  // lowest set bit
    blocks.push_back({begin, std::min(fits, aligned)});
  }
  return blocks;
}

size_t MaxBlocksPerRank(uint32_t world_size, uint32_t logical_ranks) {
  size_t most = 0;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    const LogicalRange range = LogicalRangeOf(Rank(rank), world_size, logical_ranks);
    most = std::max(most, AlignedBlocks(range).size());
  }
  return most;
}

absl::Status CheckTreeShape(uint32_t world_size, uint32_t logical_ranks) {
  if (!std::has_single_bit(logical_ranks)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("logical_ranks is %d and must be a power of two", logical_ranks));
  }
  if (world_size < 1 || world_size > logical_ranks) {
    return absl::InvalidArgumentError(
        absl::StrFormat("world size is %d and must be from 1 to logical_ranks, which is %d",
                        world_size, logical_ranks));
  }
  return absl::OkStatus();
}

}  // namespace tandem::ddp
