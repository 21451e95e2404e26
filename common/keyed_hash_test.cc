#include "common/keyed_hash.h"

#include <gtest/gtest.h>

#include <set>

namespace tandem {
namespace {

TEST(KeyedHashTest, Scramble_IsTheFinalizerOfSplitMix64) {
  // First outputs of the published generator, started at 0.
  constexpr uint64_t kGamma = 0x9e3779b97f4a7c15u;
  EXPECT_EQ(Scramble(kGamma), 0xe220a8397b1dcdafu);
  EXPECT_EQ(Scramble(2 * kGamma), 0x6e789e6aa1b965f4u);
}

TEST(KeyedHashTest, SeedAndEpochExchanged_Differ) {
  EXPECT_NE(MixKeys(RandomUse::kEpochOrder, 0u, 1u), MixKeys(RandomUse::kEpochOrder, 1u, 0u));
}

TEST(KeyedHashTest, OtherUseOrNumberOfKeys_Differs) {
  EXPECT_NE(MixKeys(RandomUse::kHoldout, 7u), MixKeys(RandomUse::kEpochOrder, 7u));
  EXPECT_NE(MixKeys(RandomUse::kForward, 0u), MixKeys(RandomUse::kForward, 0u, 0u));
}

TEST(KeyedHashTest, ManyStepsAndLogicalRanks_NeverTheSameTwice) {
  std::set<uint64_t> seen;
  for (uint64_t step = 0; step < 1000; ++step) {
    for (uint64_t leaf = 0; leaf < 64; ++leaf)
      seen.insert(MixKeys(RandomUse::kForward, step, leaf));
  }
  EXPECT_EQ(seen.size(), 64000u);
}

// The values are part of every job's result: this test only ever fails by a mistake.
TEST(KeyedHashTest, Values_NeverChange) {
  EXPECT_EQ(MixKeys(RandomUse::kForward, 1u, 2u, 3u), 0xf6249215524635bcu);
}

}  // namespace
}  // namespace tandem
