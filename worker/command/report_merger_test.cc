#include "worker/command/report_merger.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::command {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kStart = absl::Seconds(100);

v1::StepReport Report(uint64_t step, double loss_sum, uint64_t count) {
  v1::StepReport report;
  report.set_step(step);
  report.set_loss_sum(loss_sum);
  report.set_count(count);
  return report;
}

v1::StepReport Combined(uint64_t step, double loss_sum, uint64_t count) {
  v1::StepReport report = Report(step, loss_sum, count);
  report.set_combined(true);
  return report;
}

std::vector<std::string> Texts(const std::vector<v1::StepSample>& samples) {
  std::vector<std::string> texts;
  for (const v1::StepSample& sample : samples) {
    texts.push_back(absl::StrCat(sample.step(), ":", sample.loss_sum(), "/", sample.count()));
  }
  return texts;
}

class ReportMergerTest : public ::testing::Test {
 protected:
  absl::Status Add(uint32_t rank, const v1::StepReport& report) {
    return merger_.Add(rank, report, now_);
  }
  std::vector<std::string> Take() { return Texts(merger_.Take(now_)); }

  ReportMerger merger_{3};
  absl::Duration now_ = kStart;
};

TEST_F(ReportMergerTest, UnevenShares_AreOneSumAndOneCount) {
  ASSERT_TRUE(Add(0, Report(1, 10, 5)).ok());
  ASSERT_TRUE(Add(1, Report(1, 8, 2)).ok());
  EXPECT_THAT(Take(), IsEmpty());
  ASSERT_TRUE(Add(2, Report(1, 2, 1)).ok());
  EXPECT_THAT(Take(), ElementsAre("1:20/8"));
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(ReportMergerTest, OrderOfArrival_CannotChangeABit) {
  // These three do not add up to the same in every order.
  const double sums[] = {1e16, 1.0, -1e16};
  for (const auto& order : {std::vector{0, 1, 2}, std::vector{2, 1, 0}, std::vector{1, 2, 0}}) {
    ReportMerger merger(3);
    for (const int rank : order) {
      ASSERT_TRUE(merger.Add(static_cast<uint32_t>(rank), Report(1, sums[rank], 1), now_).ok());
    }
    EXPECT_EQ(merger.Take(now_).at(0).loss_sum(), (sums[0] + sums[1]) + sums[2]);
  }
}

TEST_F(ReportMergerTest, RankThatIsAhead_WaitsForTheOthers) {
  for (uint64_t step = 1; step <= 3; ++step) ASSERT_TRUE(Add(0, Report(step, 1, 1)).ok());
  ASSERT_TRUE(Add(1, Report(1, 1, 1)).ok());
  ASSERT_TRUE(Add(2, Report(1, 1, 1)).ok());
  EXPECT_THAT(Take(), ElementsAre("1:3/3"));
}

TEST_F(ReportMergerTest, RankThatLeavesStepsOut_CompletesThemWithALaterOne) {
  for (uint64_t step = 1; step <= 3; ++step) {
    ASSERT_TRUE(Add(0, Report(step, 1, 1)).ok());
    ASSERT_TRUE(Add(1, Report(step, 1, 1)).ok());
  }
  EXPECT_THAT(Take(), IsEmpty());
  ASSERT_TRUE(Add(2, Report(3, 1, 1)).ok());
  EXPECT_THAT(Take(), ElementsAre("1:2/2", "2:2/2", "3:3/3"));
}

TEST_F(ReportMergerTest, RankThatHasEnded_IsNotWaitedFor) {
  ASSERT_TRUE(Add(0, Report(1, 1, 1)).ok());
  ASSERT_TRUE(Add(1, Report(1, 1, 1)).ok());
  EXPECT_THAT(Take(), IsEmpty());
  merger_.End(2);
  EXPECT_THAT(Take(), ElementsAre("1:2/2"));
}

TEST_F(ReportMergerTest, RankThatNeverReports_IsWaitedForOnlyForAWhile) {
  ASSERT_TRUE(Add(0, Report(1, 1, 1)).ok());
  ASSERT_TRUE(Add(1, Report(1, 1, 1)).ok());
  EXPECT_EQ(merger_.deadline(), kStart + ReportMerger::kPatience);
  now_ = kStart + ReportMerger::kPatience - absl::Nanoseconds(1);
  EXPECT_THAT(Take(), IsEmpty());
  now_ = *merger_.deadline();
  EXPECT_THAT(Take(), ElementsAre("1:2/2"));
  EXPECT_THAT(merger_.TakeGivenUp(), ElementsAre(2));
  // And then no more.
  ASSERT_TRUE(Add(0, Report(2, 1, 1)).ok());
  ASSERT_TRUE(Add(1, Report(2, 1, 1)).ok());
  EXPECT_THAT(Take(), ElementsAre("2:2/2"));
}

TEST_F(ReportMergerTest, SilentRankThatBeginsLate_CountsFromThenOn) {
  ASSERT_TRUE(Add(0, Report(1, 1, 1)).ok());
  ASSERT_TRUE(Add(1, Report(1, 1, 1)).ok());
  now_ = *merger_.deadline();
  EXPECT_THAT(Take(), ElementsAre("1:2/2"));
  EXPECT_EQ(Add(2, Report(1, 1, 1)).code(), absl::StatusCode::kOutOfRange);
  ASSERT_TRUE(Add(2, Report(2, 1, 1)).ok());
  ASSERT_TRUE(Add(0, Report(2, 1, 1)).ok());
  EXPECT_THAT(Take(), IsEmpty());
  ASSERT_TRUE(Add(1, Report(2, 1, 1)).ok());
  EXPECT_THAT(Take(), ElementsAre("2:3/3"));
}

// A checkpoint, an evaluation: the others cannot go on without it for long.
TEST_F(ReportMergerTest, RankThatIsSlowInOneStep_IsWaitedForHoweverLong) {
  for (uint32_t rank = 0; rank < 3; ++rank) ASSERT_TRUE(Add(rank, Report(1000, 1, 1)).ok());
  EXPECT_THAT(Take(), ElementsAre("1000:3/3"));
  for (const uint64_t step : {2000, 3000}) {
    ASSERT_TRUE(Add(0, Report(step, 1, 1)).ok());
    ASSERT_TRUE(Add(1, Report(step, 1, 1)).ok());
  }
  EXPECT_EQ(merger_.deadline(), std::nullopt);
  now_ += absl::Hours(1);
  EXPECT_THAT(Take(), IsEmpty());
  ASSERT_TRUE(Add(2, Report(2000, 1, 1)).ok());
  EXPECT_THAT(Take(), ElementsAre("2000:3/3"));
}

class RankThatStopsReporting : public ReportMergerTest {
 protected:
  // All report step 1; the others, an hour later, as many more as make them far ahead.
  void SetUp() override {
    for (uint32_t rank = 0; rank < 3; ++rank) ASSERT_TRUE(Add(rank, Report(1, 1, 1)).ok());
    EXPECT_THAT(Take(), ElementsAre("1:3/3"));
    now_ += absl::Hours(1);
    for (uint64_t step = 2; step <= kLast; ++step) AddOfOthers(step);
  }
  void AddOfOthers(uint64_t step) {
    ASSERT_TRUE(Add(0, Report(step, 1, 1)).ok());
    ASSERT_TRUE(Add(1, Report(step, 1, 1)).ok());
  }

  static constexpr uint64_t kLast = 1 + ReportMerger::kFarAhead;
};

TEST_F(RankThatStopsReporting, OthersAreFarAhead_IsGivenUpOnWhenPatienceEnds) {
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(merger_.deadline(), now_ + ReportMerger::kPatience);
  now_ = *merger_.deadline();
  EXPECT_THAT(Take(), SizeIs(ReportMerger::kFarAhead));
  EXPECT_THAT(merger_.TakeGivenUp(), ElementsAre(2));
  AddOfOthers(kLast + 1);
  EXPECT_THAT(Take(), ElementsAre("102:2/2"));
  EXPECT_THAT(merger_.TakeGivenUp(), IsEmpty());
}

TEST_F(RankThatStopsReporting, GoesOnSlowly_IsWaitedFor) {
  now_ += ReportMerger::kPatience - absl::Seconds(1);
  ASSERT_TRUE(Add(2, Report(2, 1, 1)).ok());
  AddOfOthers(kLast + 1);
  EXPECT_THAT(Take(), ElementsAre("2:3/3"));
  EXPECT_EQ(merger_.deadline(), now_ + ReportMerger::kPatience);
}

TEST_F(RankThatStopsReporting, CatchesUp_IsWaitedForAgain) {
  now_ = *merger_.deadline();
  EXPECT_THAT(Take(), SizeIs(ReportMerger::kFarAhead));
  EXPECT_EQ(Add(2, Report(2, 1, 1)).code(), absl::StatusCode::kOutOfRange);
  AddOfOthers(kLast + 1);
  EXPECT_THAT(Take(), SizeIs(1));
  ASSERT_TRUE(Add(2, Report(kLast + 2, 1, 1)).ok());
  AddOfOthers(kLast + 2);
  EXPECT_THAT(Take(), ElementsAre("103:3/3"));
  AddOfOthers(kLast + 3);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(ReportMergerTest, MoreStepsThanMayWait_FirstIsTakenAsItIs) {
  ASSERT_TRUE(Add(1, Report(1, 1, 1)).ok());
  ASSERT_TRUE(Add(2, Report(1, 1, 1)).ok());
  for (uint64_t step = 1; step <= ReportMerger::kMaxWaiting + 1; ++step) {
    ASSERT_TRUE(Add(0, Report(step, 1, 1)).ok());
  }
  EXPECT_THAT(Take(), ElementsAre("1:3/3"));
  EXPECT_FALSE(merger_.has_overflowed());
  ASSERT_TRUE(Add(0, Report(ReportMerger::kMaxWaiting + 2, 1, 1)).ok());
  EXPECT_THAT(Take(), ElementsAre("2:1/1"));
  EXPECT_TRUE(merger_.has_overflowed());
}

TEST_F(ReportMergerTest, CombinedReport_CountsAtOnceAndOnce) {
  ASSERT_TRUE(Add(1, Combined(1, 6, 3)).ok());
  EXPECT_EQ(merger_.deadline(), std::nullopt);
  EXPECT_THAT(Take(), ElementsAre("1:6/3"));
  EXPECT_TRUE(Add(0, Combined(1, 6, 3)).ok());
  EXPECT_TRUE(Add(2, Combined(1, 6, 3)).ok());
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(ReportMergerTest, CombinedReport_ReplacesWhatRanksSayOfTheirOwn) {
  ASSERT_TRUE(Add(0, Report(1, 2, 1)).ok());
  ASSERT_TRUE(Add(1, Combined(1, 6, 3)).ok());
  EXPECT_THAT(Take(), ElementsAre("1:6/3"));
}

TEST_F(ReportMergerTest, CombinedReport_DoesNotCompleteTheStepsBeforeIt) {
  ASSERT_TRUE(Add(0, Report(1, 2, 1)).ok());
  ASSERT_TRUE(Add(0, Combined(2, 9, 3)).ok());
  EXPECT_THAT(Take(), IsEmpty());
  ASSERT_TRUE(Add(1, Report(1, 3, 1)).ok());
  ASSERT_TRUE(Add(2, Report(1, 4, 1)).ok());
  EXPECT_THAT(Take(), ElementsAre("1:9/3", "2:9/3"));
}

TEST_F(ReportMergerTest, StepReportedTwice_IsRefused) {
  ASSERT_TRUE(Add(0, Report(2, 1, 1)).ok());
  EXPECT_EQ(Add(0, Report(2, 1, 1)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Add(0, Report(1, 1, 1)).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ReportMergerTest, Digests_AreAddedWhereAllRanksGiveOne) {
  for (uint64_t step : {1, 2}) {
    for (uint32_t rank = 0; rank < 3; ++rank) {
      v1::StepReport report = Report(step, 1, 1);
      if (step == 1 || rank != 1) report.set_samples_digest(uint64_t{1} << 63 | rank);
      ASSERT_TRUE(Add(rank, report).ok());
    }
  }
  const auto samples = merger_.Take(now_);
  EXPECT_EQ(samples.at(0).samples_digest(), uint64_t{1} << 63 | 3);
  EXPECT_EQ(samples.at(1).samples_digest(), 0U);
}

TEST_F(ReportMergerTest, EpochAndLearningRate_AreThoseOfTheReports) {
  for (uint32_t rank = 0; rank < 3; ++rank) {
    v1::StepReport report = Report(1, 1, 1);
    report.set_epoch(4);
    report.set_learning_rate(0.5);
    ASSERT_TRUE(Add(rank, report).ok());
  }
  const auto samples = merger_.Take(now_);
  EXPECT_EQ(samples.at(0).epoch(), 4U);
  EXPECT_EQ(samples.at(0).learning_rate(), 0.5);
}

}  // namespace
}  // namespace tandem::command
