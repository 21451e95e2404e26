#include "worker/data/transforms.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

constexpr uint64_t kSeed = 3;

SampleShape Shape(std::vector<int64_t> inputs) {
  return {.inputs = std::move(inputs), .targets = {}};
}

v1::Transforms CropAndFlip(uint32_t padding, double probability) {
  v1::Transforms spec;
  if (padding > 0) spec.mutable_random_crop()->set_padding(padding);
  spec.mutable_flip()->set_probability(probability);
  return spec;
}

Transforms Make(const v1::Transforms& spec, const SampleShape& shape, uint64_t seed = kSeed) {
  return Transforms::Create(spec, shape, seed).value();
}

// 1, 2, 3 and so on, after the transforms.
std::vector<float> Applied(const Transforms& transforms, const SampleShape& shape,
                           std::optional<uint64_t> epoch, int64_t sample) {
  std::vector<float> inputs(static_cast<size_t>(ElementsOf(shape.inputs)));
  std::iota(inputs.begin(), inputs.end(), 1.0F);
  EXPECT_TRUE(transforms.Apply(epoch, sample, absl::MakeSpan(inputs)).ok());
  return inputs;
}

std::vector<float> Applied(const v1::Transforms& spec, const SampleShape& shape) {
  return Applied(Make(spec, shape), shape, 0, 0);
}

std::string ErrorOf(const v1::Transforms& spec, const SampleShape& shape) {
  const absl::Status status = Transforms::Create(spec, shape, kSeed).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(Transforms, None_ChangeNothing) {
  EXPECT_TRUE(Make({}, Shape({2})).empty());
  EXPECT_THAT(Applied({}, Shape({2})), ElementsAre(1, 2));
}

TEST(Transforms, ScaleAndNormalize_ComeInThisOrder) {
  v1::Transforms spec;
  spec.set_scale(2);
  spec.mutable_normalize()->add_mean(1);
  spec.mutable_normalize()->add_std(4);
  EXPECT_FALSE(Make(spec, Shape({3})).empty());
  EXPECT_THAT(Applied(spec, Shape({3})), ElementsAre(0.25, 0.75, 1.25));
}

TEST(Transforms, Normalize_TakesOneForEachChannelOrFeature) {
  v1::Transforms spec;
  for (const double mean : {1, 3}) spec.mutable_normalize()->add_mean(mean);
  for (const double deviation : {1, 2}) spec.mutable_normalize()->add_std(deviation);
  EXPECT_THAT(Applied(spec, Shape({2})), ElementsAre(0, -0.5));
  EXPECT_THAT(Applied(spec, Shape({2, 1, 2})), ElementsAre(0, 1, 0, 0.5));
}

TEST(Transforms, CertainFlip_MirrorsEveryRowOfEveryChannel) {
  EXPECT_THAT(Applied(CropAndFlip(0, 1), Shape({2, 3})), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(Applied(CropAndFlip(0, 1), Shape({2, 1, 2})), ElementsAre(2, 1, 4, 3));
}

TEST(Transforms, Flip_HappensAsOftenAsAsked) {
  const SampleShape shape = Shape({1, 2});
  const Transforms transforms = Make(CropAndFlip(0, 0.25), shape);
  int flipped = 0;
  for (int64_t i = 0; i < 4000; ++i) flipped += Applied(transforms, shape, 0, i)[0] == 2 ? 1 : 0;
  EXPECT_NEAR(flipped, 1000, 100);
}

// The picture {channels, height, width} of 1, 2, 3 and so on, moved.
std::vector<float> Moved(const std::vector<int64_t>& shape, int64_t down, int64_t right) {
  std::vector<float> moved;
  for (int64_t c = 0; c < shape[0]; ++c) {
    for (int64_t y = -down; y < shape[1] - down; ++y) {
      for (int64_t x = -right; x < shape[2] - right; ++x) {
        const bool inside = y >= 0 && y < shape[1] && x >= 0 && x < shape[2];
        moved.push_back(inside ? static_cast<float>((c * shape[1] + y) * shape[2] + x + 1) : 0);
      }
    }
  }
  return moved;
}

TEST(Transforms, Crop_IsOneOfAllMovesWithinThePadding) {
  const std::vector<int64_t> picture = {2, 4, 3};
  std::vector<std::vector<float>> expected;
  for (int64_t down = -2; down <= 2; ++down) {
    for (int64_t right = -2; right <= 2; ++right) expected.push_back(Moved(picture, down, right));
  }
  const SampleShape shape = Shape(picture);
  const Transforms transforms = Make(CropAndFlip(2, 0), shape);
  std::set<size_t> seen;
  for (int64_t sample = 0; sample < 500; ++sample) {
    const auto found =
        std::find(expected.begin(), expected.end(), Applied(transforms, shape, 0, sample));
    ASSERT_NE(found, expected.end());
    seen.insert(static_cast<size_t>(found - expected.begin()));
  }
  EXPECT_EQ(seen.size(), 25u);
}

TEST(Transforms, Draws_DependOnSeedEpochAndSampleAlone) {
  const SampleShape shape = Shape({8, 8});
  const v1::Transforms spec = CropAndFlip(3, 0.5);
  const auto of = [&](uint64_t seed, uint64_t epoch, int64_t sample) {
    return Applied(Make(spec, shape, seed), shape, epoch, sample);
  };
  // All these would be equal if one of the keys did not count.
  std::set<std::vector<float>> by_seed, by_epoch, by_sample;
  for (uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(of(i, 1, 2), of(i, 1, 2));
    by_seed.insert(of(i, 0, 0));
    by_epoch.insert(of(0, i, 0));
    by_sample.insert(of(0, 0, static_cast<int64_t>(i)));
  }
  EXPECT_GT(by_seed.size(), 2u);
  EXPECT_GT(by_epoch.size(), 2u);
  EXPECT_GT(by_sample.size(), 2u);
}

// The draws are part of every job's result: this test only ever fails by a mistake.
TEST(Transforms, Draws_NeverChange) {
  const SampleShape shape = Shape({3, 3});
  const Transforms transforms = Make(CropAndFlip(1, 0.5), shape);
  EXPECT_THAT(Applied(transforms, shape, 0, 0), ElementsAre(0, 3, 2, 0, 6, 5, 0, 9, 8));
  EXPECT_THAT(Applied(transforms, shape, 7, 11), ElementsAre(2, 3, 0, 5, 6, 0, 8, 9, 0));
}

TEST(Transforms, WithoutEpoch_NothingRandomIsDone) {
  const SampleShape shape = Shape({2, 2});
  v1::Transforms spec = CropAndFlip(1, 1);
  spec.set_scale(10);
  EXPECT_THAT(Applied(Make(spec, shape), shape, std::nullopt, 0), ElementsAre(10, 20, 30, 40));
}

TEST(Transforms, ShapeThatDoesNotSuit_IsRefusedByKey) {
  v1::Transforms crop = CropAndFlip(4, 0);
  crop.clear_flip();
  EXPECT_THAT(ErrorOf(crop, Shape({64})), StartsWith("data.transforms.random_crop: "));
  EXPECT_THAT(ErrorOf(crop, Shape({4, 8})), StartsWith("data.transforms.random_crop.padding: "));
  EXPECT_THAT(ErrorOf(crop, Shape({1, 8, 4})), StartsWith("data.transforms.random_crop.padding: "));
  EXPECT_TRUE(Transforms::Create(crop, Shape({5, 5}), kSeed).ok());
  const v1::Transforms flip = CropAndFlip(0, 0.5);
  for (const SampleShape& shape : {Shape({}), Shape({64}), Shape({1, 2, 3, 4})}) {
    EXPECT_THAT(ErrorOf(flip, shape), StartsWith("data.transforms.flip: "));
  }
}

TEST(Transforms, NormalizeOfOtherLength_IsRefusedByKey) {
  v1::Transforms spec;
  for (int i = 0; i < 2; ++i) spec.mutable_normalize()->add_mean(0);
  spec.mutable_normalize()->add_std(1);
  EXPECT_THAT(ErrorOf(spec, Shape({2})), StartsWith("data.transforms.normalize.std: "));
  spec.mutable_normalize()->add_std(1);
  EXPECT_TRUE(Transforms::Create(spec, Shape({2}), kSeed).ok());
  for (const SampleShape& shape : {Shape({3}), Shape({2, 2}), Shape({3, 2, 2}), Shape({})}) {
    EXPECT_THAT(ErrorOf(spec, shape), StartsWith("data.transforms.normalize.mean: "));
  }
}

TEST(Transforms, Tokens_CannotBeChanged) {
  v1::Transforms spec;
  spec.set_scale(1);
  SampleShape tokens = Shape({8});
  tokens.vocabulary = 5;
  EXPECT_THAT(ErrorOf(spec, tokens), StartsWith("data.transforms: "));
  EXPECT_TRUE(Transforms::Create({}, tokens, kSeed).ok());
}

TEST(Transforms, NumberThatBecomesInfinite_NamesSampleAndKey) {
  v1::Transforms spec;
  spec.set_scale(1e39);
  std::vector<float> inputs = {0, 1};
  const absl::Status status = Make(spec, Shape({2})).Apply(0, 7, absl::MakeSpan(inputs));
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              StartsWith("data.transforms.scale: sample 7, number 1 "));
}

}  // namespace
}  // namespace tandem::data
