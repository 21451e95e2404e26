#include "worker/model/global_norm.h"

#include <cmath>

#include "ATen/Functions.h"
#include "ATen/TensorOperators.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::model {
namespace {

using ::testing::ElementsAre;

GlobalNorm NormOf(NormLayer& layer, int64_t channels) {
  layer = {.weight = at::ones({channels}),
           .bias = at::zeros({channels}),
           .running_mean = at::zeros({channels}),
           .running_var = at::ones({channels}),
           .num_batches_tracked = at::zeros({}, at::kLong)};
  return GlobalNorm(layer);
}

Values MomentsOfHalves(const at::Tensor& x, int64_t rows_of_first) {
  return GlobalNorm::CombineMoments(
      GlobalNorm::Moments(x.narrow(0, 0, rows_of_first)),
      GlobalNorm::Moments(x.narrow(0, rows_of_first, x.size(0) - rows_of_first)));
}

// CASES 23: squares of 0..31 as 8 x 4, two logical ranks.
TEST(GlobalNorm, RunningStatistics_AreThoseOfTheGlobalBatch) {
  NormLayer layer;
  GlobalNorm norm = NormOf(layer, 4);
  const at::Tensor x = at::arange(32, at::kFloat).square().reshape({8, 4});
  ASSERT_TRUE(norm.SetStatistics(MomentsOfHalves(x, 4)).ok());
  EXPECT_FLOAT_EQ(layer.running_mean[0].item<float>(), 28.0f);
  EXPECT_FLOAT_EQ(layer.running_var[0].item<float>(), 8141.7f);
  EXPECT_EQ(layer.num_batches_tracked.item<int64_t>(), 1) << "one update a step";
  // The control: the statistics of one logical rank alone.
  GlobalNorm alone = NormOf(layer, 4);
  ASSERT_TRUE(alone.SetStatistics(GlobalNorm::Moments(x.narrow(0, 0, 4))).ok());
  EXPECT_FLOAT_EQ(layer.running_mean[0].item<float>(), 5.6f);
  EXPECT_NEAR(layer.running_var[0].item<float>(), 419, 0.5);
}

// CASES 24
TEST(CombineMoments, FiveAndThreeRows_AreWeightedByTheirCounts) {
  const at::Tensor x = at::tensor({1., 9., 2., 7., 3., 100., 300., 200.}).reshape({8, 1});
  const Values whole = GlobalNorm::Moments(x);
  const Values combined = MomentsOfHalves(x, 5);
  ASSERT_EQ(combined.size(), 3u);
  EXPECT_EQ(combined[0], 8);
  EXPECT_NEAR(combined[1], whole[1], 1e-12 * whole[1]);
  EXPECT_NEAR(combined[2], whole[2], 1e-12 * whole[2]);
  EXPECT_NEAR(whole[2] / 8, x.var(/*unbiased=*/false).item<double>(), 1e-9 * whole[2]);
  const double mean_of_means =
      (x.narrow(0, 0, 5).mean() + x.narrow(0, 5, 3).mean()).item<double>() / 2;
  EXPECT_GT(std::abs(mean_of_means - whole[1]), 1) << "the control: without counts";
}

TEST(Moments, Pictures_AreTakenOverSamplesAndPixels) {
  const at::Tensor x = at::arange(24, at::kFloat).reshape({2, 3, 2, 2});
  const Values moments = GlobalNorm::Moments(x);
  EXPECT_EQ(moments.size(), GlobalNorm::MomentsWidth(3));
  EXPECT_EQ(moments[0], 8);
  EXPECT_EQ(moments[1], x.select(1, 0).mean().item<double>());
}

// CASES F10: by way of 1 / std^2 - eps it comes out negative, or at least not as zero.
TEST(CombineMoments, ConstantChannel_HasVarianceOfExactlyZero) {
  const at::Tensor x = at::full({7, 2}, 0.1f);
  EXPECT_THAT(MomentsOfHalves(x, 4), ElementsAre(7, double{0.1f}, double{0.1f}, 0, 0));
  NormLayer layer;
  GlobalNorm norm = NormOf(layer, 2);
  ASSERT_TRUE(norm.SetStatistics(MomentsOfHalves(x, 4)).ok());
  EXPECT_EQ(layer.running_var[0].item<float>(), 0.9f);
  EXPECT_TRUE(at::equal(norm.Normalize(x), at::zeros({7, 2})));
  const at::Tensor inverse_deviation = 1 / at::sqrt(at::full({}, 1e-5f));
  EXPECT_NE((1 / inverse_deviation.square() - 1e-5f).item<double>(), 0) << "the control";
}

// CASES 25, one row.
TEST(SetStatistics, OneValueInEachChannel_IsRefusedWithoutTouchingTheBuffers) {
  NormLayer layer;
  GlobalNorm norm = NormOf(layer, 4);
  EXPECT_TRUE(absl::IsInvalidArgument(norm.SetStatistics(GlobalNorm::Moments(at::ones({1, 4})))));
  EXPECT_TRUE(at::equal(layer.running_var, at::ones({4})));
  EXPECT_EQ(layer.num_batches_tracked.item<int64_t>(), 0);
}

}  // namespace
}  // namespace tandem::model
