// The kernel against the sums of ranks on the CPU.
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "worker/ddp/flat_gradient.h"
#include "worker/ddp/rank_blocks.h"
#include "worker/device/tree_sum_scene.h"

namespace tandem::device {
namespace {

constexpr float kScale = 1.0F / 48;

// As GatherExchange adds them, in place; absent elements of the root are as before.
std::vector<float> SumOfRanks(const TreeScene& scene, const TreeShape& shape) {
  std::vector<at::Tensor> parameters;
  for (const int64_t elements : shape.segments) parameters.push_back(at::empty({elements}));
  const ddp::FlatLayout layout(parameters);
  std::vector<std::vector<uint8_t>> presence;
  presence.reserve(scene.blocks().size());
  auto next = scene.blocks().begin();
  ddp::RankBlocks ranks(shape.world_size, shape.logical_ranks, [&](Rank, size_t) {
    const TreeSum::Block& block = *next++;
    presence.emplace_back(block.present, block.present + shape.segments.size());
    auto* values = const_cast<float*>(block.values);
    return ddp::FlatGradient{at::from_blob(values, {layout.elements()}).clone(),
                             presence.back().data()};
  });
  ranks.Add(layout);
  std::vector<float> sums(layout.elements(), TreeScene::kUntouched);
  for (int64_t element = 0; element < layout.elements(); ++element) {
    if (!ranks.sum().present[scene.SegmentOf(element)]) continue;
    sums[element] = ranks.sum().values.data_ptr<float>()[element] * kScale;
  }
  return sums;
}

TEST(TreeSumOracleTest, RandomBitsAndAbsence_AsRanksOnTheCpu) {
  uint64_t seed = 100;
  for (const uint32_t leaves : {2U, 8U, 64U}) {
    for (uint32_t world_size = 1; world_size <= leaves; world_size += leaves / 8 + 1) {
      for (const double absent : {0.0, 0.3}) {
        const TreeShape shape = {world_size, leaves, {129, 0, 7, 64, 30, 1}, absent};
        TreeScene scene(shape, ++seed);
        float* sum = scene.NewSum();
        AddOnGrid(scene.Sum(sum, kScale), 96, 2);
        EXPECT_TRUE(SameFloats(SumOfRanks(scene, shape), sum))
            << world_size << " ranks, " << leaves << " leaves, absent " << absent;
      }
    }
  }
}

}  // namespace
}  // namespace tandem::device
