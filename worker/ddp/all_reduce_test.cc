// Reduction::kAllReduce: close to the tree, in another order.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "worker/ddp/gradient_reducer.h"
#include "worker/ddp/loopback_transport.h"
#include "worker/ddp/reduction_scene.h"

namespace tandem::ddp {
namespace {

// Every rank must come to the same result.
Gradients AllReduceOn(uint32_t world_size, const ReductionScene& scene) {
  std::vector<Gradients> results(world_size);
  RunRanks(world_size, [&](Transport& transport) {
    const GradientReducerOptions options = {.bucket_bytes = 1 << 10,
                                            .reduction = Reduction::kAllReduce};
    const auto result = Reduce(scene, transport, options);
    ASSERT_TRUE(result.ok()) << result.status();
    results[transport.rank().value()] = *result;
  });
  for (const Gradients& result : results) {
    EXPECT_TRUE(SameBits(result, results[0])) << "ranks have different gradients";
  }
  return results[0];
}

bool AreClose(const Gradients& a, const Gradients& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].defined() != b[i].defined()) return false;
    if (a[i].defined() && !at::allclose(a[i], b[i], 1e-5, 1e-6)) return false;
  }
  return true;
}

ReductionScene LeavesOf(uint32_t leaves) {
  ReductionScene scene = ReductionScene::Random(leaves, {{64, 33}, {33}, {1}, {129}}, 11);
  scene.count = 13;
  return scene;
}

TEST(AllReduceTest, EveryWorldSize_CloseToTheTree) {
  for (const uint32_t world_size : {1, 2, 3, 4, 8}) {
    EXPECT_TRUE(AreClose(AllReduceOn(world_size, LeavesOf(8)), Definition(LeavesOf(8))))
        << world_size << " ranks";
  }
}

// One addition commutes.
TEST(AllReduceTest, TwoLeavesOnTwoRanks_SameBitsAsTheTree) {
  EXPECT_TRUE(SameBits(AllReduceOn(2, LeavesOf(2)), Definition(LeavesOf(2))));
}

TEST(AllReduceTest, EightLeavesOnFourRanks_OtherBitsThanTheTree) {
  EXPECT_FALSE(SameBits(AllReduceOn(4, LeavesOf(8)), Definition(LeavesOf(8))));
}

TEST(AllReduceTest, EightLeaves_BitsDependOnTheWorldSize) {
  EXPECT_FALSE(SameBits(AllReduceOn(1, LeavesOf(8)), AllReduceOn(4, LeavesOf(8))));
}

TEST(AllReduceTest, OneRank_AddsFromTheLeft) {
  const ReductionScene scene = LeavesOf(8);
  Gradients folded = scene.leaves[0];
  for (size_t leaf = 1; leaf < scene.leaves.size(); ++leaf) {
    for (size_t i = 0; i < folded.size(); ++i) folded[i] = folded[i] + scene.leaves[leaf][i];
  }
  for (at::Tensor& gradient : folded) gradient = gradient * static_cast<float>(1.0 / 13);
  EXPECT_TRUE(SameBits(AllReduceOn(1, scene), folded));
}

TEST(AllReduceTest, AbsentOnSomeRanksOrAll_CountsAsZerosOrStaysUndefined) {
  ReductionScene scene = LeavesOf(4);
  for (Gradients& leaf : scene.leaves) leaf[1].reset();
  for (const size_t leaf : {0, 1, 3}) scene.leaves[leaf][3].reset();
  for (const uint32_t world_size : {1, 2, 3, 4}) {
    const Gradients result = AllReduceOn(world_size, scene);
    EXPECT_FALSE(result[1].defined());
    EXPECT_TRUE(AreClose(result, Definition(scene))) << world_size << " ranks";
  }
}

}  // namespace
}  // namespace tandem::ddp
