#include "worker/device/tree_sum_scene.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "common/logical_ranks.h"
#include "worker/ddp/reduction_tree.h"
#include "worker/device/tree_sum_plan.h"

namespace tandem::device {
namespace {

constexpr size_t kAlignment = kVector * sizeof(float);

float RandomFloat(std::mt19937_64& random) {
  const auto bits = static_cast<uint32_t>(random());
  switch (random() % 8) {
    case 0:
      return std::bit_cast<float>(bits & 0x807FFFFF);  // subnormal, or a zero
    case 1:
      return std::bit_cast<float>(bits & 0x80000000);  // a zero
    case 2:
      return std::bit_cast<float>((bits & 0x80FFFFFF) | 0x7E000000);  // huge
    case 3: {
      const auto any = std::bit_cast<float>(bits);
      return std::isnan(any) ? 1 : any;
    }
    default:
      return std::normal_distribution<float>()(random);
  }
}

std::vector<ddp::Block> LeftOver(uint32_t world_size, uint32_t logical_ranks) {
  const auto first = [](int left, int) { return left; };
  std::vector<ddp::Block> blocks;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    ddp::TreeAccumulator<int, decltype(first)> own(first);
    const LogicalRange range = LogicalRangeOf(Rank(rank), world_size, logical_ranks);
    for (uint32_t leaf = range.begin; leaf < range.end; ++leaf) own.Push({leaf}, 0);
    for (const auto& node : own.nodes()) blocks.push_back(node.block);
  }
  return blocks;
}

}  // namespace

TreeScene::TreeScene(const TreeShape& shape, uint64_t seed) : shape_(shape), random_(seed) {
  for (const int64_t elements : shape_.segments) offsets_.push_back(offsets_.back() + elements);
  for (const ddp::Block& block : LeftOver(shape_.world_size, shape_.logical_ranks)) {
    blocks_.push_back(NewBlock(block.begin, block.size));
  }
}

float* TreeScene::NewMemory() {
  memory_.emplace_back(new float[offsets_.back() + 2 * kVector]);
  const auto address = reinterpret_cast<uintptr_t>(memory_.back().get());
  const size_t to_aligned = (kAlignment - address % kAlignment) % kAlignment / sizeof(float);
  const size_t shift = shape_.addresses == Addresses::kApart ? random_() % kVector : 1;
  return memory_.back().get() + to_aligned + shift;
}

TreeSum::Block TreeScene::NewBlock(uint32_t begin, uint32_t size) {
  float* values = NewMemory();
  presence_.emplace_back(new uint8_t[shape_.segments.size()]);
  for (size_t segment = 0; segment < shape_.segments.size(); ++segment) {
    const bool present = std::uniform_real_distribution<>()(random_) >= shape_.absent;
    presence_.back()[segment] = present ? 1 : 0;
    if (!present) continue;
    std::generate(values + offsets_[segment], values + offsets_[segment + 1],
                  [this] { return RandomFloat(random_); });
  }
  return {begin, size, values, presence_.back().get()};
}

size_t TreeScene::SegmentOf(int64_t element) const {
  return std::upper_bound(offsets_.begin(), offsets_.end(), element) - offsets_.begin() - 1;
}

TreeScene::Value TreeScene::At(const TreeSum::Block& block, int64_t element) const {
  if (!block.present[SegmentOf(element)]) return std::nullopt;
  return block.values[element];
}

TreeSum TreeScene::Sum(float* sum, float scale) const { return {blocks_, offsets_, sum, scale}; }

float* TreeScene::NewSum() {
  float* sum = NewMemory();
  std::fill(sum, sum + offsets_.back(), kUntouched);
  return sum;
}

TreeScene::Value TreeScene::NodeAt(uint32_t begin, uint32_t size, int64_t element,
                                   const Add& add) const {
  const auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const TreeSum::Block& one) {
    return one.begin == begin && one.size == size;
  });
  if (block != blocks_.end()) return At(*block, element);
  const uint32_t half = size / 2;
  return add(NodeAt(begin, half, element, add), NodeAt(begin + half, half, element, add));
}

std::vector<float> TreeScene::Definition(const Add& add, float scale) const {
  std::vector<float> sums(offsets_.back());
  for (int64_t element = 0; element < offsets_.back(); ++element) {
    const Value sum = NodeAt(0, shape_.logical_ranks, element, add);
    sums[element] = sum ? *sum * scale : kUntouched;
  }
  return sums;
}

TreeScene::Value AddNodes(TreeScene::Value left, TreeScene::Value right) {
  if (!left || !right) return left ? left : right;
  return *left + *right;
}

void AddOnGrid(const TreeSum& sum, int64_t threads, uint32_t rows) {
  const TreePlan plan = PlanTreeSum(sum).value();
  for (uint32_t row = rows; row-- > 0;) {
    for (int64_t thread = threads; thread-- > 0;) {
      AddRunsInTree(plan.runs.data(), plan.runs.size(), plan.terms.data(), sum.scale, sum.sum,
                    {thread, threads, row, rows});
    }
  }
}

bool SameFloats(const std::vector<float>& expected, const float* actual) {
  return std::equal(expected.begin(), expected.end(), actual, [](float a, float b) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
           (std::isnan(a) && std::isnan(b));
  });
}

}  // namespace tandem::device
