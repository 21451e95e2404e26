#include "worker/model/loss.h"

#include <cmath>
#include <optional>

#include "ATen/Functions.h"
#include "c10/util/Exception.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::model {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

const data::SampleShape kOneClass = {.inputs = {4}, .targets = {}, .classes = 3};
const data::SampleShape kThreeNumbers = {.inputs = {4}, .targets = {3}};

v1::JobSpec SpecWith(std::optional<v1::Loss> loss) {
  v1::JobSpec spec;
  if (loss) spec.set_loss(*loss);
  return spec;
}

TEST(LossOf, Unset_IsByKindOfTarget) {
  EXPECT_EQ(*LossOf(SpecWith({}), kOneClass), v1::LOSS_CROSS_ENTROPY);
  EXPECT_EQ(*LossOf(SpecWith({}), kThreeNumbers), v1::LOSS_SQUARED_ERROR);
}

TEST(LossOf, OtherKindOfTarget_IsRefusedByKey) {
  for (const auto& status : {LossOf(SpecWith(v1::LOSS_SQUARED_ERROR), kOneClass).status(),
                             LossOf(SpecWith(v1::LOSS_CROSS_ENTROPY), kThreeNumbers).status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), StartsWith("loss: "));
  }
}

TEST(OutputShape, Classes_AreTheLastDimension) {
  EXPECT_THAT(OutputShape(kOneClass), ElementsAre(3));
  EXPECT_THAT(OutputShape(kThreeNumbers), ElementsAre(3));
  EXPECT_THAT(OutputShape({.inputs = {8}, .vocabulary = 5, .targets = {8}, .classes = 5}),
              ElementsAre(8, 5));
}

// CASES 14: one token of loss 4 on one logical rank and three of loss 1 on the other make 7/4.
TEST(CrossEntropy, IgnoredTargets_AreNeitherSummedNorCounted) {
  const at::Tensor scores = at::zeros({2, 4, 5});
  const at::Tensor targets =
      at::tensor({1, -100, -100, -100, 0, -100, 3, 4}, at::kLong).reshape({2, 4});
  const Outcome outcome = ComputeLoss(v1::LOSS_CROSS_ENTROPY, scores, targets);
  EXPECT_EQ(outcome.count, 4u);
  EXPECT_NEAR(outcome.loss_sum.item<double>(), 4 * std::log(5), 1e-6);
}

TEST(CrossEntropy, AllTargetsIgnored_IsZeroOfZero) {
  const at::Tensor scores = at::ones({2, 5}).requires_grad_();
  const Outcome outcome =
      ComputeLoss(v1::LOSS_CROSS_ENTROPY, scores, at::full({2}, data::kIgnoredTarget));
  EXPECT_EQ(outcome.count, 0u);
  EXPECT_EQ(outcome.loss_sum.item<double>(), 0);
  outcome.loss_sum.backward();
  EXPECT_TRUE(at::equal(scores.grad(), at::zeros({2, 5}))) << "not NaN, as a mean would be";
}

TEST(CountCorrect, IgnoredTargets_AreNeverRight) {
  const at::Tensor scores = at::eye(4).reshape({2, 2, 4});
  const at::Tensor targets = at::tensor({0, -100, 2, 0}, at::kLong).reshape({2, 2});
  EXPECT_EQ(CountCorrect(scores, targets).item<int64_t>(), 2);
}

TEST(SquaredError, IsSummedOverOutputsAndCountedBySample) {
  const at::Tensor outputs = at::tensor({1., 2., 3., 4.}).reshape({2, 2});
  const Outcome outcome =
      ComputeLoss(v1::LOSS_SQUARED_ERROR, outputs, at::zeros({2, 2}, at::kFloat));
  EXPECT_EQ(outcome.count, 2u);
  EXPECT_EQ(outcome.loss_sum.item<double>(), 30);
}

// Two vectors of other shapes would be subtracted from one another as a matrix.
TEST(ComputeLoss, OutputsOfOtherShape_Throw) {
  EXPECT_THROW(ComputeLoss(v1::LOSS_SQUARED_ERROR, at::zeros({4, 1}), at::zeros({4})), c10::Error);
  EXPECT_THROW(ComputeLoss(v1::LOSS_CROSS_ENTROPY, at::zeros({4, 2, 3}), at::zeros({4}, at::kLong)),
               c10::Error);
}

}  // namespace
}  // namespace tandem::model
