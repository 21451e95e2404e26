#include "common/backoff.h"

#include <set>

#include "gtest/gtest.h"

namespace tandem {
namespace {

constexpr Backoff::Policy kWithoutJitter{
    .first = absl::Milliseconds(100), .longest = absl::Milliseconds(450), .factor = 2, .jitter = 0};

TEST(Backoff, Next_WithoutJitter_DoublesUpToTheLongest) {
  Backoff backoff(kWithoutJitter);
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(100));
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(200));
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(400));
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(450));
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(450));
}

TEST(Backoff, Reset_AfterSeveralTries_StartsAgainFromTheFirst) {
  Backoff backoff(kWithoutJitter);
  backoff.Next();
  backoff.Next();
  backoff.Reset();
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(100));
}

TEST(Backoff, Next_WithJitter_VariesWithinItsBounds) {
  Backoff::Policy policy = kWithoutJitter;
  policy.jitter = 0.5;
  std::set<absl::Duration> seen;
  for (int i = 0; i < 100; ++i) {
    const absl::Duration delay = Backoff(policy).Next();
    EXPECT_GE(delay, absl::Milliseconds(50));
    EXPECT_LE(delay, absl::Milliseconds(100));
    seen.insert(delay);
  }
  EXPECT_GT(seen.size(), 1U);
}

}  // namespace
}  // namespace tandem
