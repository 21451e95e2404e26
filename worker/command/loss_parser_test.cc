#include "worker/command/loss_parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::command {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<LossParser> Create(const std::string& loss, const std::string& step = "") {
  v1::Parse parse;
  parse.set_loss(loss);
  if (!step.empty()) parse.set_step(step);
  return LossParser::Create(parse);
}

TEST(LossParser, LineWithALoss_IsAStepOverAllRanks) {
  auto parser = Create("loss ([0-9.e+-]+)");
  ASSERT_TRUE(parser.ok());
  EXPECT_FALSE((*parser->Add("epoch 1")).has_value());
  EXPECT_EQ((*parser->Add("[info] loss 0.5, lr 0.1"))->step(), 1U);
  const auto report = *parser->Add("loss 2.5e-1");
  EXPECT_EQ(report->step(), 2U);
  EXPECT_EQ(report->loss_sum(), 0.25);
  EXPECT_EQ(report->count(), 1U);
  EXPECT_TRUE(report->combined());
}

TEST(LossParser, StepInTheLine_IsTakenFromThere) {
  auto parser = Create("loss=([0-9.]+)", "step (\\d+)");
  ASSERT_TRUE(parser.ok());
  EXPECT_EQ((*parser->Add("step 40: loss=1.5"))->step(), 40U);
  EXPECT_FALSE((*parser->Add("evaluation: loss=1.5")).has_value());
}

TEST(LossParser, DivergedLoss_IsANumber) {
  auto parser = Create("loss (\\S+)");
  EXPECT_TRUE((*parser->Add("loss nan")).has_value());
}

TEST(LossParser, FoundWhatIsNoNumber_IsAnErrorThatShowsIt) {
  auto parser = Create("loss (\\S+)");
  EXPECT_THAT(std::string(parser->Add("loss unknown").status().message()), HasSubstr("'unknown'"));
}

TEST(LossParser, WrongExpression_NamesTheKey) {
  EXPECT_THAT(std::string(Create("loss (").status().message()), HasSubstr("command.parse.loss"));
  EXPECT_THAT(std::string(Create("loss .*").status().message()), HasSubstr("group"));
  EXPECT_THAT(std::string(Create("loss (.*)", "step").status().message()),
              HasSubstr("command.parse.step"));
}

}  // namespace
}  // namespace tandem::command
