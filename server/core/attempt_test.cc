#include "server/core/attempt.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::core {
namespace {

using ::testing::ElementsAre;

const WorkerName kLeft("left");
const WorkerName kRight("right");

// Ranks 0 and 1 on the left worker, rank 2 on the right one, placed at second 100.
Attempt ThreeRanks() {
  return Attempt(AttemptNumber(1), {{kLeft, "cpu:0"}, {kLeft, "cpu:1"}, {kRight, "cpu:0"}},
                 Options{.prepare_timeout = absl::Seconds(60), .abort_timeout = absl::Seconds(5)},
                 {absl::UnixEpoch(), absl::Seconds(100)});
}

TEST(Attempt, Runs_RankElsewhereGoneOrUnknown_IsFalse) {
  Attempt attempt = ThreeRanks();
  EXPECT_TRUE(attempt.Runs(Rank(2), kRight));
  EXPECT_FALSE(attempt.Runs(Rank(2), kLeft));
  EXPECT_FALSE(attempt.Runs(Rank(3), kRight));
  attempt.SetGone(Rank(2));
  EXPECT_FALSE(attempt.Runs(Rank(2), kRight));
  EXPECT_THAT(attempt.Workers(), ElementsAre(kLeft));
}

TEST(Attempt, Deadline_FollowsTheState) {
  Attempt attempt = ThreeRanks();
  EXPECT_EQ(attempt.deadline(), absl::Seconds(160));
  ASSERT_TRUE(attempt.SetRunning());
  EXPECT_EQ(attempt.deadline(), absl::InfiniteDuration());
  ASSERT_TRUE(attempt.SetEnding({absl::UnixEpoch(), absl::Seconds(300)}));
  EXPECT_EQ(attempt.deadline(), absl::Seconds(305));
}

TEST(Attempt, SetEnding_Twice_KeepsTheFirstDeadline) {
  Attempt attempt = ThreeRanks();
  ASSERT_TRUE(attempt.SetEnding({absl::UnixEpoch(), absl::Seconds(110)}));
  EXPECT_FALSE(attempt.SetEnding({absl::UnixEpoch(), absl::Seconds(112)}));
  EXPECT_FALSE(attempt.SetRunning());
  EXPECT_EQ(attempt.deadline(), absl::Seconds(115));
}

TEST(Attempt, SetPrepared_LastRank_AllArePreparedAtThePortOfRankZero) {
  Attempt attempt = ThreeRanks();
  v1::Prepared zero;
  zero.set_master_port(4444);
  attempt.SetPrepared(Rank(2), {});
  attempt.SetPrepared(Rank(0), zero);
  EXPECT_THAT(attempt.Unprepared(), ElementsAre(Rank(1)));
  attempt.SetPrepared(Rank(1), {});
  EXPECT_TRUE(attempt.AllPrepared());
  EXPECT_EQ(attempt.meeting_point().master_port(), 4444U);
}

TEST(Attempt, Deviating_OneDigestDiffers_IsThatRank) {
  Attempt attempt = ThreeRanks();
  attempt.SetFinished(Rank(0), "same");
  attempt.SetFinished(Rank(1), "same");
  EXPECT_FALSE(attempt.AllFinished());
  attempt.SetFinished(Rank(2), "other");
  ASSERT_TRUE(attempt.AllFinished());
  EXPECT_EQ(attempt.Deviating(), Rank(2));
  attempt.SetFinished(Rank(2), "same");
  EXPECT_EQ(attempt.Deviating(), std::nullopt);
}

}  // namespace
}  // namespace tandem::core
