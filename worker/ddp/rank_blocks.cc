#include "worker/ddp/rank_blocks.h"

#include "common/logical_ranks.h"

namespace tandem::ddp {

RankBlocks::RankBlocks(uint32_t world_size, uint32_t logical_ranks,
                       const std::function<FlatGradient(Rank, size_t)>& memory)
    : ranks_(world_size) {
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    for (const Block& block :
         AlignedBlocks(LogicalRangeOf(Rank(rank), world_size, logical_ranks))) {
      ranks_[rank].push_back(memory(Rank(rank), ranks_[rank].size()));
      order_.push_back(block);
    }
  }
}

void RankBlocks::Add(const FlatLayout& layout) {
  const auto add = [&layout](FlatGradient* left, FlatGradient* right) {
    layout.AddInto(*left, *right);
    return left;
  };
  TreeAccumulator<FlatGradient*, decltype(add)> tree(add);
  auto block = order_.begin();
  for (std::vector<FlatGradient>& rank : ranks_) {
    for (FlatGradient& gradient : rank) tree.Push(*block++, &gradient);
  }
}

}  // namespace tandem::ddp
