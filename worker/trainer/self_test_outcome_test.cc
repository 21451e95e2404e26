#include "worker/trainer/self_test_outcome.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace tandem::trainer {
namespace {

v1::SelfTestReport Report(uint64_t different, const std::string& first_difference) {
  v1::SelfTestReport report;
  v1::SelfTestCase& one = *report.add_cases();
  one.set_name("random bits");
  one.set_values(100);
  one.set_different(different);
  one.set_first_difference(first_difference);
  return report;
}

const absl::Status kGone = absl::UnavailableError("its peer is gone");
const absl::Status kLate = absl::DeadlineExceededError("it did not answer in time");

TEST(SelfTestOutcomeTest, TwoReports_AreCountedTogether) {
  const auto outcome = Outcome(Report(0, ""), Report(2, "value 17"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->cases(0).values(), 200u);
  EXPECT_EQ(outcome->cases(0).different(), 2u);
  EXPECT_EQ(outcome->cases(0).first_difference(), "value 17");
  EXPECT_EQ(Outcome(Report(1, "value 3"), Report(1, "value 17"))->cases(0).first_difference(),
            "value 3");
}

TEST(SelfTestOutcomeTest, RankThatFailedAlone_IsTheOutcome) {
  EXPECT_EQ(Outcome(kLate, Report(0, "")).status(),
            absl::DeadlineExceededError("rank 0: it did not answer in time"));
  EXPECT_EQ(Outcome(Report(0, ""), kGone).status(),
            absl::UnavailableError("rank 1: its peer is gone"));
}

// Either may be the one that only lost its peer.
TEST(SelfTestOutcomeTest, TwoFailures_AreBothSaidInTheOrderOfRanks) {
  EXPECT_EQ(Outcome(kGone, kLate).status(),
            absl::UnavailableError("rank 0: its peer is gone; rank 1: it did not answer in time"));
  EXPECT_EQ(
      Outcome(kLate, kGone).status(),
      absl::DeadlineExceededError("rank 0: it did not answer in time; rank 1: its peer is gone"));
}

}  // namespace
}  // namespace tandem::trainer
