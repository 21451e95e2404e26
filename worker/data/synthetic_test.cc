#include "worker/data/synthetic.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/data/normal.h"

namespace tandem::data {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::StartsWith;

enum class Kind { kClassification, kRegression, kSquares };

v1::Synthetic Spec(Kind kind, uint64_t samples = 100) {
  v1::Synthetic spec;
  spec.set_samples(samples);
  if (kind == Kind::kClassification) {
    spec.mutable_classification()->set_features(6);
    spec.mutable_classification()->set_classes(3);
    spec.mutable_classification()->set_noise(0.5);
  } else if (kind == Kind::kRegression) {
    spec.mutable_regression()->set_features(6);
    spec.mutable_regression()->set_outputs(2);
    spec.mutable_regression()->set_noise(0.1);
  } else {
    spec.mutable_squares()->set_side(16);
    spec.mutable_squares()->set_classes(4);
    spec.mutable_squares()->set_noise(0.3);
  }
  return spec;
}

struct Sample {
  std::vector<float> input, numbers;
  std::vector<int64_t> label;
  friend bool operator==(const Sample&, const Sample&) = default;
};

Sample SampleOf(const SampleSource& source, int64_t index) {
  Sample sample;
  sample.input.resize(static_cast<size_t>(ElementsOf(source.shape().inputs)));
  const auto targets = static_cast<size_t>(ElementsOf(source.shape().targets));
  if (source.shape().classes > 0) {
    sample.label.resize(targets);
    source.Copy(index, absl::MakeSpan(sample.input), absl::MakeSpan(sample.label));
  } else {
    sample.numbers.resize(targets);
    source.Copy(index, absl::MakeSpan(sample.input), absl::MakeSpan(sample.numbers));
  }
  return sample;
}

std::unique_ptr<SampleSource> Source(const v1::Synthetic& spec, uint64_t seed = 1) {
  return MakeSynthetic(spec, seed).value();
}

class SyntheticTest : public ::testing::TestWithParam<Kind> {};

TEST_P(SyntheticTest, Sample_DependsOnSeedAndIndexAlone) {
  const auto few = Source(Spec(GetParam(), 10));
  const auto many = Source(Spec(GetParam(), 1000));
  EXPECT_EQ(few->size(), 10);
  for (int64_t index = 9; index >= 0; --index) {
    EXPECT_EQ(SampleOf(*few, index), SampleOf(*many, index));
  }
}

TEST_P(SyntheticTest, OtherSeedOrIndex_GivesAnotherSample) {
  const auto source = Source(Spec(GetParam()));
  const auto other = Source(Spec(GetParam()), 2);
  EXPECT_NE(SampleOf(*source, 0).input, SampleOf(*source, 1).input);
  EXPECT_NE(SampleOf(*source, 0).input, SampleOf(*other, 0).input);
}

TEST_P(SyntheticTest, Samples_AreFiniteAndEveryClassOccurs) {
  const auto source = Source(Spec(GetParam(), 200));
  std::vector<int> seen(static_cast<size_t>(source->shape().classes));
  for (int64_t i = 0; i < source->size(); ++i) {
    const Sample sample = SampleOf(*source, i);
    for (const float x : sample.input) EXPECT_TRUE(std::isfinite(x));
    for (const float y : sample.numbers) EXPECT_TRUE(std::isfinite(y));
    for (const int64_t label : sample.label) ++seen.at(static_cast<size_t>(label));
  }
  EXPECT_THAT(seen, Each(Ge(20)));
}

INSTANTIATE_TEST_SUITE_P(Kinds, SyntheticTest,
                         ::testing::Values(Kind::kClassification, Kind::kRegression,
                                           Kind::kSquares));

TEST(Synthetic, ClassificationWithoutNoise_HasOneInputAClass) {
  v1::Synthetic spec = Spec(Kind::kClassification);
  spec.mutable_classification()->set_noise(0);
  const auto source = Source(spec);
  for (int64_t i = 1; i < source->size(); ++i) {
    const Sample a = SampleOf(*source, 0), b = SampleOf(*source, i);
    EXPECT_EQ(a.input == b.input, a.label == b.label);
  }
}

TEST(Synthetic, RegressionWithoutNoise_IsLinear) {
  v1::Synthetic spec = Spec(Kind::kRegression);
  spec.mutable_regression()->set_features(1);
  spec.mutable_regression()->set_noise(0);
  const auto source = Source(spec);
  const Sample first = SampleOf(*source, 0);
  for (int64_t i = 1; i < source->size(); ++i) {
    const Sample sample = SampleOf(*source, i);
    for (size_t j = 0; j < 2; ++j) {
      EXPECT_NEAR(sample.numbers[j] / sample.input[0], first.numbers[j] / first.input[0], 1e-5);
    }
  }
}

TEST(Synthetic, SquareWithoutNoise_HasTheAreaOfItsClass) {
  v1::Synthetic spec = Spec(Kind::kSquares);
  spec.mutable_squares()->set_noise(0);
  const auto source = Source(spec);
  for (int64_t i = 0; i < source->size(); ++i) {
    const Sample sample = SampleOf(*source, i);
    const int64_t side = 3 * (sample.label[0] + 1);  // 3, 6, 9 or 12 of 16
    EXPECT_EQ(std::count(sample.input.begin(), sample.input.end(), 1.0F), side * side);
    EXPECT_EQ(std::count(sample.input.begin(), sample.input.end(), 0.0F), 256 - side * side);
  }
}

// The draws are part of every job's result: this test only ever fails by a mistake.
TEST(Synthetic, Draws_NeverChange) {
  v1::Synthetic spec = Spec(Kind::kSquares);
  spec.mutable_squares()->set_noise(0);
  const auto source = Source(spec);
  std::vector<int64_t> labels, corners;
  for (int64_t i = 0; i < 6; ++i) {
    const Sample sample = SampleOf(*source, i);
    labels.push_back(sample.label[0]);
    corners.push_back(std::find(sample.input.begin(), sample.input.end(), 1.0F) -
                      sample.input.begin());
  }
  EXPECT_THAT(labels, ElementsAre(2, 3, 3, 1, 0, 1));
  EXPECT_THAT(corners, ElementsAre(84, 52, 4, 150, 123, 153));
}

TEST(NormalNumbers, Values_NeverChange) {
  KeyedGenerator generator(1);
  NormalNumbers normal(&generator);
  EXPECT_FLOAT_EQ(static_cast<float>(normal.Next()), -0.03426732F);
  EXPECT_FLOAT_EQ(static_cast<float>(normal.Next()), -1.2926085F);
}

TEST(Synthetic, KeysThatDoNotFit_AreNamed) {
  v1::Synthetic spec = Spec(Kind::kSquares);
  spec.mutable_squares()->set_classes(16);
  EXPECT_THAT(std::string(MakeSynthetic(spec, 1).status().message()),
              StartsWith("data.synthetic.squares.classes: "));
  spec = Spec(Kind::kRegression);
  spec.mutable_regression()->set_noise(1e300);
  EXPECT_THAT(std::string(MakeSynthetic(spec, 1).status().message()),
              StartsWith("data.synthetic.regression.noise: "));
}

TEST(NormalNumbers, Moments_AreThoseOfTheNormalDistribution) {
  KeyedGenerator generator(1);
  NormalNumbers normal(&generator);
  constexpr int kCount = 100000;
  double sum = 0, squares = 0, fourth_powers = 0, neighbours = 0, last = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = normal.Next();
    sum += x;
    squares += x * x;
    fourth_powers += x * x * x * x;
    neighbours += x * last;
    last = x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.03);
  EXPECT_NEAR(fourth_powers / kCount, 3, 0.2);
  EXPECT_NEAR(neighbours / kCount, 0, 0.02);
}

}  // namespace
}  // namespace tandem::data
