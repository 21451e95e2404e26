#include "worker/trainer/progress_printer.h"

#include <algorithm>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::trainer {
namespace {

using ::testing::HasSubstr;

class ProgressPrinterTest : public ::testing::Test {
 protected:
  void Step(uint64_t step) {
    v1::StepSample sample;
    sample.set_step(step);
    sample.set_loss_sum(6);
    sample.set_count(4);
    ASSERT_TRUE(printer_.OnStep(sample).ok());
  }

  void Evaluate(uint64_t step) {
    v1::Evaluation evaluation;
    evaluation.set_step(step);
    evaluation.set_accuracy(0.75);
    ASSERT_TRUE(printer_.OnEvaluation(evaluation).ok());
  }

  int64_t Lines() const {
    const std::string text = out_.str();
    return std::count(text.begin(), text.end(), '\n');
  }

  FakeClock clock_;
  std::ostringstream out_;
  ProgressPrinter printer_{clock_, 9, out_};
};

TEST_F(ProgressPrinterTest, FirstStep_ShowsTheMeanLoss) {
  Step(1);
  EXPECT_THAT(out_.str(), HasSubstr("step 1/9"));
  EXPECT_THAT(out_.str(), HasSubstr("loss 1.5"));
}

TEST_F(ProgressPrinterTest, FastSteps_PrintOncePerInterval) {
  for (int step = 1; step <= 5; ++step) Step(step);
  EXPECT_EQ(Lines(), 1);
  clock_.Advance(ProgressPrinter::kInterval);
  Step(6);
  EXPECT_EQ(Lines(), 2);
  EXPECT_THAT(out_.str(), HasSubstr("5 steps/s"));
}

TEST_F(ProgressPrinterTest, End_ShowsTheLastStepAndEvaluation) {
  Step(1);
  Step(2);
  Evaluate(2);
  ASSERT_TRUE(printer_.OnEnd().ok());
  EXPECT_EQ(Lines(), 2);
  EXPECT_THAT(out_.str(), HasSubstr("step 2/9"));
  EXPECT_THAT(out_.str(), HasSubstr("accuracy 0.75"));
}

TEST_F(ProgressPrinterTest, End_NothingNew_PrintsNothingMore) {
  Step(1);
  ASSERT_TRUE(printer_.OnEnd().ok());
  EXPECT_EQ(Lines(), 1);
}

}  // namespace
}  // namespace tandem::trainer
