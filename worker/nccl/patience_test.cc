#include "worker/nccl/patience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/time/clock.h"

namespace tandem::nccl {
namespace {

constexpr absl::Duration kTimeout = absl::Milliseconds(1);

// As for a process that is stopped after a look, and goes on when it is too late.
TEST(PatienceTest, HappenedWhileStoppedBeyondTheDeadline_IsSeen) {
  int looks = 0;
  const auto look = [&] {
    if (++looks > 1) return true;
    absl::SleepFor(2 * kTimeout);
    return false;
  };
  EXPECT_EQ(Patience(kTimeout).Until(look).value(), true);
  EXPECT_EQ(looks, 2);
}

TEST(PatienceTest, NeverHappens_FalseOnceTheTimeIsOver) {
  const absl::Time begin = absl::Now();
  EXPECT_EQ(Patience(kTimeout).Until([] { return false; }).value(), false);
  EXPECT_GE(absl::Now() - begin, kTimeout);
}

TEST(PatienceTest, LookFails_ItsErrorAtOnce) {
  const auto look = []() -> absl::StatusOr<bool> { return absl::InternalError("broken"); };
  EXPECT_EQ(Patience(absl::Minutes(1)).Until(look).status(), absl::InternalError("broken"));
}

}  // namespace
}  // namespace tandem::nccl
