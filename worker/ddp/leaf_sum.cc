#include "worker/ddp/leaf_sum.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace tandem::ddp {
namespace {

// A binary counter over a block of k leaves holds log2(k) values besides the one in the block's
// place.
size_t TreeScratch(const std::vector<Block>& blocks) {
  size_t most = 0;
  for (const Block& block : blocks) most = std::max<size_t>(most, std::countr_zero(block.size));
  return most;
}

}  // namespace

std::vector<at::Tensor> ViewsOf(const FlatLayout& layout, const FlatGradient& gradient,
                                const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> views;
  for (size_t i = 0; i < parameters.size(); ++i) {
    views.push_back(layout.Segment(gradient, i).view(parameters[i].sizes()));
  }
  return views;
}

LeafSum::Buffer* LeafSum::AddBuffers::operator()(Buffer* left, Buffer* right) const {
  owner->layout_.AddInto(left->gradient, right->gradient);
  owner->free_scratch_.push_back(right);
  return left;
}

LeafSum::LeafSum(LogicalRange range, Reduction reduction, const std::vector<at::Tensor>& parameters,
                 const std::function<FlatGradient(size_t)>& place)
    : reduction_(reduction),
      layout_(parameters),
      sums_(AlignedBlocks(range)),
      tree_(AddBuffers{this}) {
  const bool in_tree = reduction == Reduction::kTree;
  if (!in_tree) sums_ = {{range.begin, range.end - range.begin}};
  for (size_t i = 0; i < sums_.size(); ++i) {
    const FlatGradient gradient = place(i);
    places_.push_back({gradient, ViewsOf(layout_, gradient, parameters)});
  }
  MakeScratch(in_tree ? TreeScratch(sums_) : 1, parameters);
}

void LeafSum::MakeScratch(size_t count, const std::vector<at::Tensor>& parameters) {
  scratch_present_.assign(count, std::vector<uint8_t>(layout_.segments()));
  for (std::vector<uint8_t>& present : scratch_present_) {
    const FlatGradient gradient = {at::empty({layout_.elements()}, layout_.options()),
                                   present.data()};
    scratch_.push_back({gradient, ViewsOf(layout_, gradient, parameters)});
  }
  for (Buffer& buffer : scratch_) free_scratch_.push_back(&buffer);
}

void LeafSum::Open(LogicalRank leaf) {
  if (leaf.value() == sums_.front().begin) tree_.Clear();
  leaf_ = leaf;
  open_ = TakeBufferFor(leaf);
  std::fill_n(open_->gradient.present, layout_.segments(), uint8_t{0});
  missing_ = layout_.segments();
}

LeafSum::Buffer* LeafSum::TakeBufferFor(LogicalRank leaf) {
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (sums_[i].begin == leaf.value()) return &places_[i];
  }
  Buffer* buffer = free_scratch_.back();
  free_scratch_.pop_back();
  return buffer;
}

absl::Status LeafSum::Store(size_t segment, const at::Tensor& gradient) {
  if (open_ == nullptr || open_->gradient.present[segment]) {
    return absl::FailedPreconditionError("it has a gradient already");
  }
  open_->segments[segment].copy_(gradient);
  open_->gradient.present[segment] = 1;
  --missing_;
  return absl::OkStatus();
}

void LeafSum::Close() {
  if (open_ == nullptr) return;
  Buffer* const leaf = std::exchange(open_, nullptr);
  if (reduction_ == Reduction::kTree) {
    tree_.Push({leaf_.value()}, leaf);
  } else if (leaf != places_.data()) {
    AddBuffers{this}(places_.data(), leaf);
  }
}

}  // namespace tandem::ddp
