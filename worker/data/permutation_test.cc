#include "worker/data/permutation.h"

#include <algorithm>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(KeyedGenerator, Next_KnownKey_GivesPublishedValues) {
  // The reference values of SplitMix64 for the seed 1234567.
  KeyedGenerator generator(1234567);
  EXPECT_EQ(generator.Next(), 6457827717110365317u);
  EXPECT_EQ(generator.Next(), 3203168211198807973u);
}

TEST(KeyedGenerator, Below_HugeBound_RejectsInsteadOfWrapping) {
  // With a plain remainder of this bound, values below 2^62 would come twice as often.
  constexpr uint64_t kBound = (uint64_t{1} << 63) + (uint64_t{1} << 62);
  KeyedGenerator generator(1);
  int low = 0;
  for (int i = 0; i < 30000; ++i) low += generator.Below(kBound) < kBound / 3;
  EXPECT_NEAR(low, 10000, 500);
}

TEST(KeyedGenerator, Fraction_IsSpreadOverZeroToOne) {
  KeyedGenerator generator(1);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double fraction = generator.Fraction();
    EXPECT_GE(fraction, 0);
    EXPECT_LT(fraction, 1);
    sum += fraction;
  }
  EXPECT_NEAR(sum, 5000, 150);
}

TEST(KeyedPermutation, SmallSizes_HoldEachNumberOnce) {
  EXPECT_THAT(KeyedPermutation(0, 7), IsEmpty());
  EXPECT_THAT(KeyedPermutation(1, 7), ElementsAre(0));
  for (int64_t n = 2; n <= 50; ++n) {
    std::vector<int64_t> order = KeyedPermutation(n, n);
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(order[i], i);
  }
}

TEST(KeyedPermutation, OverManyKeys_EveryOrderIsEquallyLikely) {
  std::map<std::vector<int64_t>, int> seen;
  for (uint64_t key = 0; key < 24000; ++key) ++seen[KeyedPermutation(4, key)];
  EXPECT_EQ(seen.size(), 24u);
  for (const auto& [order, times] : seen) EXPECT_NEAR(times, 1000, 160);
}

// Kept in checkpoints by implication: were this to change, a resumed job would see other batches.
TEST(KeyedPermutation, KnownKey_NeverChanges) {
  EXPECT_THAT(KeyedPermutation(8, 42), ElementsAre(3, 1, 6, 2, 4, 0, 7, 5));
}

}  // namespace
}  // namespace tandem::data
