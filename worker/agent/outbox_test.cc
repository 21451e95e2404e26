#include "worker/agent/outbox.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const RankKey kRank{JobId("job"), AttemptNumber(1), Rank(0)};

v1::WorkerToCoordinator Log(const RankKey& key, size_t bytes) {
  v1::WorkerToCoordinator message;
  message.mutable_rank_log()->set_job_id(key.job.value());
  message.mutable_rank_log()->set_attempt(key.attempt.value());
  v1::LogLine* line = message.mutable_rank_log()->add_lines();
  line->set_rank(key.rank.value());
  line->set_text(std::string(bytes, 'x'));
  return message;
}

v1::WorkerToCoordinator Finished(const RankKey& key) {
  v1::WorkerToCoordinator message;
  SetKey(key, message.mutable_rank_report());
  message.mutable_rank_report()->mutable_finished();
  return message;
}

v1::WorkerToCoordinator Exited(const RankKey& key) {
  v1::WorkerToCoordinator message;
  SetKey(key, message.mutable_rank_exited());
  return message;
}

std::vector<v1::WorkerToCoordinator> TakeAll(Outbox* outbox) {
  std::vector<v1::WorkerToCoordinator> all;
  for (; outbox->Next() != nullptr; outbox->NoteSent()) all.push_back(*outbox->Next());
  if (!all.empty()) outbox->Acknowledge(all.back().sequence(), [](const auto&) {});
  return all;
}

std::vector<v1::WorkerToCoordinator::KindCase> Kinds(Outbox* outbox) {
  std::vector<v1::WorkerToCoordinator::KindCase> kinds;
  for (const auto& message : TakeAll(outbox)) kinds.push_back(message.kind_case());
  return kinds;
}

TEST(Outbox, SentButNotAcknowledged_IsSentAgainOverTheNextConnection) {
  Outbox outbox(1000);
  outbox.Add(Finished(kRank));
  outbox.Add(Exited(kRank));
  EXPECT_EQ(outbox.Next()->sequence(), 1U);
  outbox.NoteSent();
  EXPECT_EQ(outbox.Next()->sequence(), 2U);
  outbox.NoteSent();
  EXPECT_EQ(outbox.Next(), nullptr);
  std::vector<uint64_t> taken;
  const auto note = [&taken](const auto& message) { taken.push_back(message.sequence()); };
  outbox.Acknowledge(1, note);
  EXPECT_THAT(taken, ElementsAre(1));
  EXPECT_EQ(outbox.first_sequence(), 2U);
  outbox.Rewind();
  EXPECT_TRUE(outbox.Next()->has_rank_exited());
  EXPECT_EQ(outbox.Next()->sequence(), 2U);
  outbox.Acknowledge(2, note);
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(outbox.Next(), nullptr);
  EXPECT_EQ(outbox.first_sequence(), 3U);
}

TEST(Outbox, Add_ManyReportsBeyondTheLimit_KeepsThemAll) {
  Outbox outbox(1);
  for (int i = 0; i < 1000; ++i) outbox.Add(Finished(kRank));
  outbox.Add(Exited(kRank));
  EXPECT_THAT(TakeAll(&outbox), SizeIs(1001));
}

// Of so many beyond a limit that one fills, the last two are kept.
constexpr size_t kLong = size_t{100} << 10;
constexpr size_t kRoomForOne = size_t{150} << 10;

TEST(Outbox, Add_LogsBeyondTheLimit_ExitFollowsTheirEndAndANoticeThatCountsTheRest) {
  Outbox outbox(kRoomForOne);
  for (int i = 0; i < 5; ++i) outbox.Add(Log(kRank, kLong + static_cast<size_t>(i)));
  outbox.Add(Exited(kRank));
  const auto all = TakeAll(&outbox);
  ASSERT_THAT(all, SizeIs(3));
  ASSERT_THAT(all[1].rank_log().lines(), SizeIs(3));
  EXPECT_THAT(all[1].rank_log().lines(0).text(), HasSubstr("2 lines"));
  EXPECT_THAT(all[1].rank_log().lines(1).text(), SizeIs(kLong + 3));
  EXPECT_THAT(all[1].rank_log().lines(2).text(), SizeIs(kLong + 4));
  EXPECT_TRUE(all[2].has_rank_exited());
}

TEST(Outbox, Add_LogAfterOthersWereLeftOut_NoticeStandsInTheirPlace) {
  Outbox outbox(kRoomForOne);
  for (int i = 0; i < 5; ++i) outbox.Add(Log(kRank, kLong));
  TakeAll(&outbox);
  outbox.Add(Log(kRank, 400));
  const auto all = TakeAll(&outbox);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(all[0].rank_log().lines(0).text(), HasSubstr("2 lines"));
}

TEST(Outbox, Add_LogsOfOtherRankLeftOut_NoNoticeForThisOne) {
  Outbox outbox(kRoomForOne);
  const RankKey other{JobId("job"), AttemptNumber(1), Rank(1)};
  for (int i = 0; i < 4; ++i) outbox.Add(Log(other, kLong));
  outbox.Add(Exited(kRank));
  using Kind = v1::WorkerToCoordinator;
  EXPECT_THAT(Kinds(&outbox), ElementsAre(Kind::kRankLog, Kind::kRankExited));
}

}  // namespace
}  // namespace tandem::agent
