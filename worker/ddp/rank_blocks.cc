#include "worker/ddp/rank_blocks.h"

#include "common/logical_ranks.h"

namespace tandem::ddp {

RankBlocks::RankBlocks(device::Device* device, uint32_t world_size, uint32_t logical_ranks,
                       const std::function<FlatGradient(Rank, size_t)>& memory)
    : device_(device), ranks_(world_size) {
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    for (const Block& block :
         AlignedBlocks(LogicalRangeOf(Rank(rank), world_size, logical_ranks))) {
      ranks_[rank].push_back(memory(Rank(rank), ranks_[rank].size()));
      order_.push_back(block);
    }
  }
}

absl::Status RankBlocks::Add(const FlatLayout& layout, float scale) {
  if (device_ != nullptr) return AddOnDevice(layout, scale);
  AddHere(layout, scale);
  return absl::OkStatus();
}

void RankBlocks::AddHere(const FlatLayout& layout, float scale) {
  const auto add = [&layout](FlatGradient* left, FlatGradient* right) {
    layout.AddInto(*left, *right);
    return left;
  };
  TreeAccumulator<FlatGradient*, decltype(add)> tree(add);
  auto block = order_.begin();
  for (std::vector<FlatGradient>& rank : ranks_) {
    for (FlatGradient& gradient : rank) tree.Push(*block++, &gradient);
  }
  sum().values.mul_(scale);
}

absl::Status RankBlocks::AddOnDevice(const FlatLayout& layout, float scale) {
  device::TreeSum all;
  for (const std::vector<FlatGradient>& rank : ranks_) {
    for (const FlatGradient& gradient : rank) {
      const Block& block = order_[all.blocks.size()];
      all.blocks.push_back({.begin = block.begin,
                            .size = block.size,
                            .values = gradient.values.const_data_ptr<float>(),
                            .present = gradient.present});
    }
  }
  all.offsets = layout.offsets();
  all.sum = sum().values.mutable_data_ptr<float>();
  all.scale = scale;
  absl::Status status = device_->AddInTree(all, device_->ComputeStream());
  for (const device::TreeSum::Block& block : all.blocks) {
    for (size_t i = 0; i < layout.segments(); ++i) sum().present[i] |= block.present[i];
  }
  return status;
}

}  // namespace tandem::ddp
