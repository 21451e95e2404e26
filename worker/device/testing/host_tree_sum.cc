#include "worker/device/testing/host_tree_sum.h"

#include <functional>
#include <optional>
#include <utility>

#include "worker/ddp/reduction_tree.h"

namespace tandem::device {
namespace {

using Values = std::vector<float>;

struct AddValues {
  Values operator()(Values left, const Values& right) const {
    for (size_t i = 0; i < left.size(); ++i) left[i] += right[i];
    return left;
  }
};

ddp::Block NodeOf(const TreeSum::Block& block) { return {block.begin, block.size}; }

bool AreOfOneRoot(const std::vector<TreeSum::Block>& blocks) {
  ddp::TreeAccumulator<int, std::plus<>> tree{std::plus<>()};
  for (const TreeSum::Block& block : blocks) tree.Push(NodeOf(block), 0);
  return tree.nodes().size() == 1 && tree.nodes()[0].block.begin == 0;
}

}  // namespace

absl::StatusOr<HostTreeSum> HostTreeSum::Make(const TreeSum& sum) {
  if (!AreOfOneRoot(sum.blocks) || sum.offsets.empty()) {
    return absl::InternalError("the blocks of a sum are not all of one root's");
  }
  return HostTreeSum(sum);
}

HostTreeSum::HostTreeSum(const TreeSum& sum) : sum_(sum) {
  for (const TreeSum::Block& block : sum_.blocks) {
    present_.emplace_back(block.present, block.present + segments());
  }
}

void HostTreeSum::operator()() const {
  for (size_t segment = 0; segment < segments(); ++segment) AddSegment(segment);
}

void HostTreeSum::AddSegment(size_t segment) const {
  const int64_t begin = sum_.offsets[segment];
  const int64_t end = sum_.offsets[segment + 1];
  using Add = ddp::AddPresent<AddValues>;
  ddp::TreeAccumulator<std::optional<Values>, Add> tree{Add()};
  for (size_t i = 0; i < sum_.blocks.size(); ++i) {
    const float* values = sum_.blocks[i].values;
    std::optional<Values> leaf;
    if (present_[i][segment] != 0) leaf.emplace(values + begin, values + end);
    tree.Push(NodeOf(sum_.blocks[i]), std::move(leaf));
  }
  const std::optional<Values>& root = tree.nodes()[0].value;
  if (!root) return;
  for (int64_t i = begin; i < end; ++i) sum_.sum[i] = (*root)[i - begin] * sum_.scale;
}

}  // namespace tandem::device
