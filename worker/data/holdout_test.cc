#include "worker/data/holdout.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(HoldOut, Split_CoversEverySampleOnce) {
  const Split split = *HoldOut(1797, 0.2, 0);
  EXPECT_EQ(split.held_out.size(), 359u);
  EXPECT_TRUE(std::is_sorted(split.training.begin(), split.training.end()));
  std::vector<int64_t> all = split.training;
  all.insert(all.end(), split.held_out.begin(), split.held_out.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, TrainOnAll(1797).training);
}

TEST(HoldOut, Split_DependsOnSeedOnly) {
  EXPECT_EQ(HoldOut(100, 0.5, 1)->held_out, HoldOut(100, 0.5, 1)->held_out);
  EXPECT_NE(HoldOut(100, 0.5, 1)->held_out, HoldOut(100, 0.5, 2)->held_out);
}

TEST(HoldOut, TwoSamples_AreOneAndOne) {
  const Split split = *HoldOut(2, 0.5, 0);
  EXPECT_EQ(split.training.size(), 1u);
  EXPECT_EQ(split.held_out.size(), 1u);
}

TEST(HoldOut, NothingOnOneSide_IsRefusedByKey) {
  for (const auto& [samples, share] : {std::pair{10, 0.01}, {10, 0.99}, {1, 0.5}, {1, 0.4}}) {
    const absl::StatusOr<Split> split = HoldOut(samples, share, 0);
    EXPECT_TRUE(absl::IsInvalidArgument(split.status())) << samples << " " << share;
    EXPECT_THAT(std::string(split.status().message()), StartsWith("evaluate.holdout: "));
  }
}

TEST(TrainOnAll, KeepsFileOrder) { EXPECT_THAT(TrainOnAll(3).training, ElementsAre(0, 1, 2)); }

}  // namespace
}  // namespace tandem::data
