// Which bits GradientReducer makes. Every test has its control: the wrong way, which must differ.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <utility>

#include "worker/ddp/gradient_reducer.h"
#include "worker/ddp/local_transport.h"
#include "worker/ddp/loopback_transport.h"
#include "worker/ddp/reduction_scene.h"

namespace tandem::ddp {
namespace {

// Runs the scene on `world_size` ranks; every rank must come to the same result.
Gradients ReduceOn(uint32_t world_size, const ReductionScene& scene,
                   const GradientReducerOptions& options = {}) {
  std::vector<absl::StatusOr<Gradients>> results(world_size, absl::UnknownError("did not run"));
  RunRanks(world_size, [&](Transport& transport) {
    results[transport.rank().value()] = Reduce(scene, transport, options);
  });
  for (const auto& result : results) {
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return {};
    EXPECT_TRUE(SameBits(*result, *results[0])) << "ranks have different gradients";
  }
  return *results[0];
}

// Both ways of an exchange, whatever the size of a bucket.
constexpr GradientReducerOptions kGathered = {.gather_bytes = size_t{1} << 30};
constexpr GradientReducerOptions kSharded = {.gather_bytes = 0};

constexpr uint32_t kWorldSizes[] = {1, 2, 3, 4, 5, 8};

// Several thousand values, an odd number of parameters, some of them tiny.
ReductionScene EightLeaves() {
  ReductionScene scene = ReductionScene::Random(8, {{64, 33}, {33}, {1}, {7, 5, 3}, {129}}, 17);
  scene.count = 29;
  return scene;
}

// As above, with gradients missing here and there, one parameter unused on all and one leaf empty.
ReductionScene EightLeavesWithGaps() {
  ReductionScene scene = EightLeaves();
  for (Gradients& leaf : scene.leaves) leaf[1].reset();
  for (const size_t leaf : {0, 1, 2, 6}) scene.leaves[leaf][0].reset();
  for (const size_t leaf : {1, 3, 4, 5, 6, 7}) scene.leaves[leaf][3].reset();
  for (at::Tensor& gradient : scene.leaves[5]) gradient.reset();
  return scene;
}

TEST(GradientReducerBitsTest, EveryWorldSize_IsTheDefinition) {
  const ReductionScene scene = EightLeaves();
  for (const uint32_t world_size : kWorldSizes) {
    EXPECT_TRUE(SameBits(ReduceOn(world_size, scene), Definition(scene))) << world_size << " ranks";
  }
}

TEST(GradientReducerBitsTest, EveryWorldSizeGatheredOrSharded_IsTheDefinition) {
  for (const ReductionScene& scene : {EightLeaves(), EightLeavesWithGaps()}) {
    for (const uint32_t world_size : kWorldSizes) {
      EXPECT_TRUE(SameBits(ReduceOn(world_size, scene, kGathered), Definition(scene)))
          << world_size << " ranks, gathered";
      EXPECT_TRUE(SameBits(ReduceOn(world_size, scene, kSharded), Definition(scene)))
          << world_size << " ranks, sharded";
    }
  }
}

TEST(GradientReducerBitsTest, FewerElementsThanRanksSharded_IsTheDefinition) {
  ReductionScene scene = ReductionScene::Random(8, {{2}, {1}}, 6);
  for (const uint32_t world_size : kWorldSizes) {
    EXPECT_TRUE(SameBits(ReduceOn(world_size, scene, kSharded), Definition(scene)))
        << world_size << " ranks";
  }
}

// Nothing of a step may be left over in the next.
TEST(GradientReducerBitsTest, SegmentsComeAndGoSharded_EveryStepIsTheDefinition) {
  const ReductionScene full = EightLeaves();
  const ReductionScene gaps = EightLeavesWithGaps();
  RunRanks(3, [&](Transport& transport) {
    GradientReducerOptions options = kSharded;
    options.logical_ranks = 8;
    const std::vector<NamedTensor> parameters = full.MakeParameters();
    auto reducer = *GradientReducer::Create(transport, parameters, options);
    uint64_t step = 0;
    for (const ReductionScene* scene : {&full, &gaps, &full, &gaps}) {
      const auto result = ReduceStep(*scene, *reducer, parameters, step++);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_TRUE(SameBits(*result, Definition(*scene))) << "step " << step;
    }
  });
}

// CASES F8.
TEST(GradientReducerBitsTest, FoldFromTheLeft_Differs) {
  const ReductionScene scene = EightLeaves();
  Gradients folded = scene.leaves[0];
  for (size_t leaf = 1; leaf < scene.leaves.size(); ++leaf) {
    for (size_t i = 0; i < folded.size(); ++i) folded[i] = folded[i] + scene.leaves[leaf][i];
  }
  for (at::Tensor& gradient : folded) gradient = gradient * static_cast<float>(1.0 / 29);
  EXPECT_FALSE(SameBits(ReduceOn(1, scene), folded));
}

// Gradients of a cubic over `leaves` equal shares of 16 rows.
ReductionScene SharesOfSixteenRows(int64_t leaves) {
  ReductionScene rows = ReductionScene::Random(2, {{16, 33}}, 5);
  const at::Tensor weight = rows.leaves[1][0].slice(0, 0, 7).clone().requires_grad_();
  ReductionScene scene = {.shapes = {{7, 33}}, .leaves = std::vector<Gradients>(leaves)};
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    const at::Tensor share =
        rows.leaves[0][0].slice(0, leaf * 16 / leaves, (leaf + 1) * 16 / leaves);
    weight.mutable_grad().reset();
    share.clone().matmul(weight.t()).pow(3).sum().backward();
    scene.leaves[leaf] = {weight.grad().clone()};
  }
  return scene;
}

TEST(GradientReducerBitsTest, LeavesMergedIntoLargerOnes_Differ) {
  const Gradients eight = ReduceOn(1, SharesOfSixteenRows(8));
  EXPECT_TRUE(SameBits(eight, ReduceOn(4, SharesOfSixteenRows(8))));
  EXPECT_FALSE(SameBits(eight, ReduceOn(1, SharesOfSixteenRows(4))));
  EXPECT_TRUE(at::allclose(eight[0], ReduceOn(1, SharesOfSixteenRows(4))[0], 1e-3, 1e-3));
}

// CASES F2.
TEST(GradientReducerBitsTest, NegativeZeroOnOneLeafOnly_StaysNegative) {
  ReductionScene scene = ReductionScene::Random(4, {{3}, {3}}, 1);
  for (Gradients& leaf : scene.leaves) leaf[0].reset();
  scene.leaves[2][0] = at::full({3}, -0.0f);
  ReductionScene zeros_for_absent = scene;
  for (const size_t leaf : {0, 1, 3}) zeros_for_absent.leaves[leaf][0] = at::zeros({3});
  for (const uint32_t world_size : {1, 2, 3, 4}) {
    for (const GradientReducerOptions& way : {kGathered, kSharded}) {
      EXPECT_TRUE(ReduceOn(world_size, scene, way)[0].signbit().all().item<bool>()) << world_size;
      EXPECT_FALSE(ReduceOn(world_size, zeros_for_absent, way)[0].signbit().any().item<bool>());
    }
  }
}

// CASES F4.
TEST(GradientReducerBitsTest, ScalingBeforeTheSum_DiffersAtThreeShares) {
  ReductionScene scene = ReductionScene::Random(4, {{1000}}, 3);
  scene.leaves[3][0].reset();
  scene.count = 3;
  ReductionScene scaled_first = scene;
  for (const size_t leaf : {0, 1, 2}) {
    scaled_first.leaves[leaf][0] = scene.leaves[leaf][0] * static_cast<float>(1.0 / 3);
  }
  scaled_first.count = 1;
  EXPECT_TRUE(SameBits(ReduceOn(3, scene), Definition(scene)));
  EXPECT_FALSE(SameBits(ReduceOn(3, scene), ReduceOn(3, scaled_first)));
}

// CASES 37: alone or fused into one buffer.
TEST(GradientReducerBitsTest, BucketSize_ChangesNoBit) {
  for (const ReductionScene& scene : {EightLeaves(), EightLeavesWithGaps()}) {
    for (const uint32_t world_size : {1, 3, 4}) {
      const Gradients large = ReduceOn(world_size, scene, {.bucket_bytes = 25 << 20});
      for (const size_t gather_bytes : {0, 500, 1 << 20}) {
        const Gradients small =
            ReduceOn(world_size, scene, {.bucket_bytes = 1 << 10, .gather_bytes = gather_bytes});
        EXPECT_TRUE(SameBits(small, large)) << world_size << " ranks";
      }
    }
  }
}

TEST(GradientReducerBitsTest, ParameterUnusedEverywhere_GradientIsUndefined) {
  const Gradients result = ReduceOn(2, EightLeavesWithGaps());
  EXPECT_FALSE(result[1].defined());
  EXPECT_TRUE(result[0].defined());
}

// CASES 29.
TEST(GradientReducerBitsTest, ParameterUsedOnOneRankOnly_GradientIsThatOfTheRank) {
  ReductionScene scene = ReductionScene::Random(2, {{5}, {4}}, 9);
  scene.leaves[1][1].reset();
  EXPECT_TRUE(
      SameBits(ReduceOn(2, scene), {scene.leaves[0][0] + scene.leaves[1][0], scene.leaves[0][1]}));
}

TEST(GradientReducerBitsTest, NoSampleAtAll_EveryGradientIsUndefined) {
  ReductionScene scene = ReductionScene::Random(4, {{5}, {4}}, 9);
  scene.count = 0;
  const Gradients result = ReduceOn(3, scene);
  EXPECT_FALSE(result[0].defined());
  EXPECT_FALSE(result[1].defined());
}

TEST(GradientReducerBitsTest, HalfPrecision_AddedInFloatAndConvertedOnce) {
  const at::Tensor weight = at::zeros({257}, at::kBFloat16).requires_grad_();
  ReductionScene scene = ReductionScene::Random(4, {{257}}, 2);
  for (Gradients& leaf : scene.leaves) leaf[0] = leaf[0].to(at::kBFloat16);
  LocalTransport transport;
  auto reducer = *GradientReducer::Create(transport, {{"weight", weight}}, {.logical_ranks = 4});
  reducer->BeginStep(0);
  for (uint32_t l = 0; l < 4; ++l) {
    reducer->BeginLogicalRank(LogicalRank(l));
    (weight * scene.leaves[l][0]).sum().backward();
    reducer->EndLogicalRank(LogicalRank(l));
  }
  ASSERT_TRUE(reducer->Finish(1).ok());
  ReductionScene in_float = scene;
  for (Gradients& leaf : in_float.leaves) leaf[0] = leaf[0].to(at::kFloat);
  EXPECT_TRUE(SameBits({weight.grad()}, {Definition(in_float)[0].to(at::kBFloat16)}));
  EXPECT_FALSE(SameBits({weight.grad()}, Definition(scene)));
}

}  // namespace
}  // namespace tandem::ddp
