#include "worker/trainer/progress_reporter.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ProgressReporterTest : public ::testing::Test {
 protected:
  void Step(uint64_t step) {
    v1::StepSample sample;
    sample.set_step(step);
    ASSERT_TRUE(reporter_.OnStep(sample).ok());
  }

  // How many samples each message held.
  std::vector<int> MessageSizes() const {
    std::vector<int> sizes;
    for (const v1::RankProgress& message : messages_) sizes.push_back(message.samples_size());
    return sizes;
  }

  FakeClock clock_;
  std::vector<v1::RankProgress> messages_;
  ProgressReporter reporter_{clock_, [this](const v1::RankProgress& message) {
                               messages_.push_back(message);
                               return absl::OkStatus();
                             }};
};

TEST_F(ProgressReporterTest, FirstStep_IsSentAtOnce) {
  Step(1);
  EXPECT_THAT(MessageSizes(), ElementsAre(1));
}

TEST_F(ProgressReporterTest, StepsWithinAnInterval_TravelTogether) {
  for (int step = 1; step <= 4; ++step) Step(step);
  clock_.Advance(ProgressReporter::kInterval);
  Step(5);
  EXPECT_THAT(MessageSizes(), ElementsAre(1, 4));
}

TEST_F(ProgressReporterTest, End_SendsWhatIsLeftAndNothingTwice) {
  Step(1);
  Step(2);
  ASSERT_TRUE(reporter_.OnEvaluation(v1::Evaluation()).ok());
  ASSERT_TRUE(reporter_.OnEnd().ok());
  ASSERT_TRUE(reporter_.OnEnd().ok());
  EXPECT_THAT(MessageSizes(), ElementsAre(1, 1));
  EXPECT_EQ(messages_.back().evaluations_size(), 1);
}

TEST_F(ProgressReporterTest, End_WithoutAnyStep_SendsNothing) {
  ASSERT_TRUE(reporter_.OnEnd().ok());
  EXPECT_THAT(messages_, IsEmpty());
}

TEST_F(ProgressReporterTest, ManySteps_AllArriveInOrder) {
  for (int step = 1; step <= 1000; ++step) {
    Step(step);
    clock_.Advance(absl::Milliseconds(7));
  }
  ASSERT_TRUE(reporter_.OnEnd().ok());
  uint64_t expected = 0;
  for (const v1::RankProgress& message : messages_) {
    for (const v1::StepSample& sample : message.samples()) ASSERT_EQ(sample.step(), ++expected);
  }
  EXPECT_EQ(expected, 1000u);
  EXPECT_LE(messages_.size(), 7 * 5 + 2u);
}

TEST_F(ProgressReporterTest, BeforeCheckpoint_NothingIsHeldBack) {
  for (uint64_t step = 1; step <= 3; ++step) Step(step);
  ASSERT_TRUE(reporter_.BeforeCheckpoint().ok());
  EXPECT_THAT(MessageSizes(), ElementsAre(1, 2));
  ASSERT_TRUE(reporter_.BeforeCheckpoint().ok());
  EXPECT_THAT(MessageSizes(), ElementsAre(1, 2));
}

}  // namespace
}  // namespace tandem::trainer
