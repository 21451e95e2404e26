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
                 {Incarnation("l"), Incarnation("l"), Incarnation("r")},
                 Options{.prepare_timeout = absl::Seconds(60),
                         .abort_timeout = absl::Seconds(5),
                         .pause_timeout = absl::Seconds(30)},
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
  ASSERT_TRUE(attempt.SetRunning({}, std::nullopt, {absl::UnixEpoch(), absl::Seconds(101)}));
  EXPECT_EQ(attempt.deadline(), absl::InfiniteDuration());
  ASSERT_TRUE(attempt.SetPausing({absl::UnixEpoch(), absl::Seconds(200)}));
  EXPECT_EQ(attempt.deadline(), absl::Seconds(230));
  EXPECT_FALSE(attempt.SetPausing({absl::UnixEpoch(), absl::Seconds(201)}));
  ASSERT_TRUE(attempt.SetEnding({absl::UnixEpoch(), absl::Seconds(300)}));
  EXPECT_EQ(attempt.deadline(), absl::Seconds(305));
}

TEST(Attempt, SetEnding_Twice_KeepsTheFirstDeadline) {
  Attempt attempt = ThreeRanks();
  ASSERT_TRUE(attempt.SetEnding({absl::UnixEpoch(), absl::Seconds(110)}));
  EXPECT_FALSE(attempt.SetEnding({absl::UnixEpoch(), absl::Seconds(112)}));
  EXPECT_FALSE(attempt.SetRunning({}, std::nullopt, {absl::UnixEpoch(), absl::Seconds(113)}));
  EXPECT_FALSE(attempt.SetPausing({absl::UnixEpoch(), absl::Seconds(113)}));
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
  EXPECT_EQ(attempt.prepared(Rank(0)).master_port(), 4444U);
  EXPECT_EQ(attempt.BeginningElsewhere(), std::nullopt);
}

TEST(Attempt, BeginningElsewhere_OneRankSeesOtherCheckpoints_IsThatRank) {
  Attempt attempt = ThreeRanks();
  v1::Prepared later;
  later.set_steps_done(5);
  attempt.SetPrepared(Rank(0), later);
  attempt.SetPrepared(Rank(1), later);
  attempt.SetPrepared(Rank(2), {});
  EXPECT_EQ(attempt.BeginningElsewhere(), Rank(2));
}

TEST(Attempt, Record_ReadAgain_IsWhereItWas) {
  Attempt attempt = ThreeRanks();
  v1::Start start;
  start.set_attempt(1);
  start.set_master_port(4444);
  ASSERT_TRUE(attempt.SetRunning(start, std::nullopt, {absl::UnixEpoch(), absl::Seconds(101)}));
  attempt.SetFinished(Rank(0), "digest");
  attempt.SetPaused(Rank(1), 7);
  attempt.SetExplained(Rank(1));
  attempt.SetGone(Rank(2));
  v1::JobRecord record;
  record.mutable_job()->set_attempt(1);
  for (const WorkerName& worker : {kLeft, kLeft, kRight}) {
    record.mutable_job()->add_ranks()->set_worker(worker.value());
  }
  attempt.WriteTo(&record);
  const Attempt again(record, Options{}, {absl::UnixEpoch(), absl::Seconds(500)});
  EXPECT_EQ(again.state(), Attempt::State::kRunning);
  EXPECT_EQ(again.number(), AttemptNumber(1));
  EXPECT_EQ(again.start().master_port(), 4444U);
  EXPECT_EQ(again.digest(), "digest");
  EXPECT_TRUE(again.Paused(Rank(1)));
  EXPECT_TRUE(again.Explained(Rank(1)));
  EXPECT_THAT(again.Present(), ElementsAre(Rank(0), Rank(1)));
  EXPECT_THAT(again.PresentOn(kLeft), ElementsAre(Rank(0), Rank(1)));
  EXPECT_EQ(again.incarnation(Rank(2)), Incarnation("r"));
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
