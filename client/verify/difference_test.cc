#include "client/verify/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "client/verify/sample_evidence.h"

namespace tandem::verify {
namespace {

using ::testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

v1::TensorDigest Tensor(const std::string& dtype, const std::vector<int64_t>& shape) {
  v1::TensorDigest tensor = Digest("fc.weight", "");
  tensor.set_dtype(dtype);
  tensor.mutable_shape()->Assign(shape.begin(), shape.end());
  return tensor;
}

TEST(RelativeDifference, IsOfTheLargerOne) {
  EXPECT_EQ(RelativeDifference(2, 1), 0.5);
  EXPECT_EQ(RelativeDifference(-1, -2), 0.5);
  EXPECT_EQ(RelativeDifference(3, 3), 0);
  EXPECT_EQ(RelativeDifference(0, 0), 0);
  EXPECT_EQ(RelativeDifference(0, -0.0), 0);
  EXPECT_EQ(RelativeDifference(1, kInfinity), kInfinity);
  EXPECT_EQ(RelativeDifference(1, std::nan("")), kInfinity);
  EXPECT_EQ(RelativeDifference(std::nan(""), std::nan("")), 0);
}

TEST(FirstDifference, OfHistories_IsTheEarliestInTheOrderOfAStep) {
  const std::vector<v1::StepSample> first = GoodRun(1).samples;
  std::vector<v1::StepSample> other = first;
  EXPECT_FALSE(FirstDifference(first, other));
  other[4].set_parameter_digest("another");
  EXPECT_EQ(FirstDifference(first, other)->aspect(), v1::ASPECT_PARAMETERS);
  EXPECT_EQ(FirstDifference(first, other)->step(), 5u);
  other[4].set_loss_sum(9);
  EXPECT_EQ(FirstDifference(first, other)->aspect(), v1::ASPECT_LOSS);
  EXPECT_EQ(FirstDifference(first, other)->first_loss(), 0.2);
  EXPECT_EQ(FirstDifference(first, other)->other_loss(), 2.25);
  other[4].set_samples_digest(9);
  EXPECT_EQ(FirstDifference(first, other)->aspect(), v1::ASPECT_SAMPLES);
  other[0].set_count(5);
  EXPECT_EQ(FirstDifference(first, other)->step(), 1u);
}

TEST(FirstDifference, DigestThatOnlyOneHas_IsNone) {
  const std::vector<v1::StepSample> first = GoodRun(1).samples;
  std::vector<v1::StepSample> other = first;
  other[4].clear_parameter_digest();
  EXPECT_FALSE(FirstDifference(first, other));
}

TEST(FirstDifference, HistoryThatStartsLater_IsComparedFromThere) {
  const std::vector<v1::StepSample> first = GoodRun(1).samples;
  std::vector<v1::StepSample> other(first.begin() + 3, first.end());
  EXPECT_FALSE(FirstDifference(first, other));
  EXPECT_FALSE(FirstDifference(other, first));
  other[1].set_loss_sum(9);
  EXPECT_EQ(FirstDifference(first, other)->step(), 5u);
}

TEST(FirstDifference, HistoryThatEndsEarlier_DiffersInLength) {
  const std::vector<v1::StepSample> first = GoodRun(1).samples;
  const std::vector<v1::StepSample> other(first.begin(), first.begin() + 3);
  const auto difference = FirstDifference(first, other);
  EXPECT_EQ(difference->aspect(), v1::ASPECT_LENGTH);
  EXPECT_EQ(difference->step(), 4u);
  EXPECT_TRUE(difference->has_first_loss());
  EXPECT_FALSE(difference->has_other_loss());
}

TEST(FirstDifference, OfEvaluations_IsTheFirstOfThoseThatBothHave) {
  std::vector<v1::Evaluation> first = {MakeEvaluation(4), MakeEvaluation(8)};
  std::vector<v1::Evaluation> other = {MakeEvaluation(5), MakeEvaluation(8)};
  EXPECT_FALSE(FirstDifference(first, other));
  other[1].set_loss(0.25);
  const auto difference = FirstDifference(first, other);
  EXPECT_EQ(difference->step(), 8u);
  EXPECT_EQ(difference->first_loss(), 0.5);
  EXPECT_EQ(difference->other_loss(), 0.25);
}

TEST(Earlier, AnEvaluation_ComesAfterItsStep) {
  v1::Difference step, evaluation;
  step.set_step(5);
  step.set_aspect(v1::ASPECT_LOSS);
  evaluation.set_step(5);
  evaluation.set_aspect(v1::ASPECT_EVALUATION);
  EXPECT_EQ(Earlier(step, evaluation)->aspect(), v1::ASPECT_LOSS);
  evaluation.set_step(4);
  EXPECT_EQ(Earlier(step, evaluation)->aspect(), v1::ASPECT_EVALUATION);
  EXPECT_EQ(Earlier(step, std::nullopt)->aspect(), v1::ASPECT_LOSS);
  EXPECT_EQ(Earlier(std::nullopt, evaluation)->aspect(), v1::ASPECT_EVALUATION);
}

TEST(FirstDifferingValue, OfFloats_HasIndexBothAndHowMany) {
  const auto value =
      FirstDifferingValue(Tensor("float32", {2, 3}), Bytes<float>({1, 2, 3, 4, 5, 6}),
                          Bytes<float>({1, 2, 3, 4, 5.5F, 7}));
  ASSERT_TRUE(value);
  EXPECT_THAT(value->index(), ElementsAre(1, 1));
  EXPECT_EQ(value->first(), 5);
  EXPECT_EQ(value->other(), 5.5);
  EXPECT_EQ(value->differing(), 2u);
  EXPECT_EQ(value->size(), 6u);
}

TEST(FirstDifferingValue, NegativeZero_IsAnotherValue) {
  EXPECT_EQ(
      FirstDifferingValue(Tensor("", {}), Bytes<float>({0.0F}), Bytes<float>({-0.0F}))->differing(),
      1u);
  EXPECT_EQ(
      FirstDifferingValue(Tensor("", {}), Bytes<float>({0.0F}), Bytes<float>({0.0F}))->differing(),
      0u);
}

TEST(FirstDifferingValue, OfIntegers_IsReadAsIntegers) {
  const auto value =
      FirstDifferingValue(Tensor("int64", {}), Bytes<int64_t>({7, 8}), Bytes<int64_t>({7, 9}));
  ASSERT_TRUE(value);
  EXPECT_THAT(value->index(), ElementsAre(1));
  EXPECT_EQ(value->other(), 9);
}

TEST(FirstDifferingValue, BeginningOfALargeTensor_SaysHowManyWereCompared) {
  const auto value = FirstDifferingValue(Tensor("float32", {4, 1000}), Bytes<float>({1, 2, 3}),
                                         Bytes<float>({1, 2, 3}));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->differing(), 0u);
  EXPECT_EQ(value->compared(), 3u);
  EXPECT_EQ(value->size(), 4000u);
}

TEST(FirstDifferingValue, BytesOfNoSuchTensor_IsNothing) {
  EXPECT_FALSE(FirstDifferingValue(Tensor("complex64", {}), "12345678", "12345679"));
  EXPECT_FALSE(FirstDifferingValue(Tensor("", {}), Bytes<float>({1, 2}), Bytes<float>({1})));
}

TEST(FirstDifferingValue, OfRuns_IsThatOfTheRankThatDiffers) {
  verify::Run first = GoodRun(1), other = GoodRun(2);
  v1::Difference difference;
  difference.set_tensor("fc.bias");
  difference.set_tensor_step(2);
  EXPECT_FALSE(FirstDifferingValue(difference, first, other));
  first.ranks[0].steps[1].set_values(Bytes<float>({1, 2}));
  other.ranks[0].steps[1].set_values(Bytes<float>({1, 2}));
  other.ranks[1].steps[1].set_values(Bytes<float>({1, 3}));
  const auto value = FirstDifferingValue(difference, first, other);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->other(), 3);
}

}  // namespace
}  // namespace tandem::verify
