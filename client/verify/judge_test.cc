#include "client/verify/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "client/verify/sample_evidence.h"

namespace tandem::verify {
namespace {

v1::Verification JudgeRuns(std::vector<verify::Run> runs, const JudgeOptions& options = {}) {
  return Judge({std::move(runs)}, options);
}

const JudgeOptions kSemantic = {v1::EQUIVALENCE_LEVEL_SEMANTIC, 1e-3};

TEST(Judge, SameBits_IsBitEqualAndPasses) {
  const v1::Verification verdict = JudgeRuns({GoodRun(1), GoodRun(1), GoodRun(2)});
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_BIT_EQUAL);
  EXPECT_TRUE(verdict.passed());
  EXPECT_FALSE(verdict.has_difference());
  EXPECT_EQ(verdict.diagnosis(), v1::DIAGNOSIS_UNSPECIFIED);
  ASSERT_EQ(verdict.runs_size(), 3);
  EXPECT_EQ(verdict.runs(2).world_size(), 2u);
  EXPECT_EQ(verdict.runs(2).losses_size(), static_cast<int>(kSteps));
  EXPECT_EQ(verdict.runs(2).parameter_digest(), "digest-of-step-8");
}

TEST(Judge, OneBitOfTheLastLoss_IsDifferent) {
  verify::Run other = GoodRun(2);
  v1::StepSample& last = other.samples.back();
  last.set_loss_sum(std::nextafter(last.loss_sum(), 1));
  const v1::Verification verdict = JudgeRuns({GoodRun(1), GoodRun(1), other});
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_FALSE(verdict.passed());
  EXPECT_EQ(verdict.difference().step(), kSteps);
  EXPECT_EQ(verdict.difference().aspect(), v1::ASPECT_LOSS);
  EXPECT_EQ(verdict.runs(2).largest_difference_step(), kSteps);
}

TEST(Judge, OneTensorOfOneRank_IsDifferentAndNamed) {
  verify::Run other = GoodRun(2);
  other.ranks[1].steps[2].mutable_tensors(1)->set_sha256("another");
  const v1::Verification verdict = JudgeRuns({GoodRun(1), GoodRun(1), other});
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_EQ(verdict.difference().step(), 3u);
  EXPECT_EQ(verdict.difference().aspect(), v1::ASPECT_PARAMETERS);
  EXPECT_EQ(verdict.difference().tensor(), "fc.bias");
}

TEST(Judge, FirstTensor_StandsAtTheStepWhereItDiffers) {
  verify::Run other = GoodRun(2);
  other.ranks[0].header.mutable_tensors(0)->set_sha256("another");
  Derail(&other, 1, 2);
  const v1::Verification verdict = JudgeRuns({GoodRun(1), GoodRun(1), other});
  EXPECT_EQ(verdict.difference().step(), 0u);
  EXPECT_EQ(verdict.difference().aspect(), v1::ASPECT_INITIAL);
  EXPECT_EQ(verdict.difference().tensor(), "fc.weight");
  EXPECT_EQ(verdict.difference().tensor_step(), 0u);
}

TEST(Judge, SemanticJob_IsHeldToItsTolerance) {
  verify::Run near = GoodRun(2), far = GoodRun(2);
  Derail(&near, 2, 1 + 1e-4);
  Derail(&far, 2, 1 + 1e-2);
  const v1::Verification passes = JudgeRuns({GoodRun(1), GoodRun(1), near}, kSemantic);
  EXPECT_EQ(passes.verdict(), v1::VERDICT_WITHIN_TOLERANCE);
  EXPECT_TRUE(passes.passed());
  EXPECT_NEAR(passes.runs(2).largest_difference(), 1e-4, 1e-7);
  const v1::Verification fails = JudgeRuns({GoodRun(1), GoodRun(1), far}, kSemantic);
  EXPECT_EQ(fails.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_FALSE(fails.passed());
}

TEST(Judge, BitwiseJobWithinTolerance_Fails) {
  verify::Run near = GoodRun(2);
  Derail(&near, 2, 1 + 1e-9);
  EXPECT_FALSE(JudgeRuns({GoodRun(1), GoodRun(1), near}).passed());
}

TEST(Judge, SemanticJobWithOtherSamples_Fails) {
  verify::Run other = GoodRun(2);
  Resample(&other, [](const v1::LeafTrace&, uint64_t) { return std::vector<int64_t>{1, 2}; });
  EXPECT_FALSE(JudgeRuns({GoodRun(1), GoodRun(1), other}, kSemantic).passed());
}

TEST(Judge, LossThatIsNoNumber_IsNeverWithinTolerance) {
  verify::Run other = GoodRun(2);
  other.samples[4].set_loss_sum(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(JudgeRuns({GoodRun(1), GoodRun(1), other}, kSemantic).passed());
}

TEST(Judge, SameNaNs_AreBitEqual) {
  std::vector<verify::Run> runs = {GoodRun(1), GoodRun(1), GoodRun(2)};
  for (verify::Run& run : runs) {
    run.samples[4].set_loss_sum(std::numeric_limits<double>::quiet_NaN());
  }
  EXPECT_EQ(JudgeRuns(runs).verdict(), v1::VERDICT_BIT_EQUAL);
}

TEST(Judge, RunThatEndedEarly_IsDifferentWithItsCause) {
  verify::Run other = GoodRun(2);
  other.samples.resize(3);
  for (RankTrace& rank : other.ranks) rank.steps.resize(3);
  other.cause = "ranks do not agree";
  const v1::Verification verdict = JudgeRuns({GoodRun(1), GoodRun(1), other});
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_EQ(verdict.difference().aspect(), v1::ASPECT_LENGTH);
  EXPECT_EQ(verdict.difference().step(), 4u);
  EXPECT_EQ(verdict.runs(2).cause(), "ranks do not agree");
}

TEST(Judge, SecondSizeDiffers_IsFoundBehindAnEqualOne) {
  verify::Run other = GoodRun(2);
  Derail(&other, 4, 2);
  const v1::Verification verdict = JudgeRuns({GoodRun(1), GoodRun(1), GoodRun(2), other});
  EXPECT_EQ(verdict.runs(2).verdict(), v1::VERDICT_BIT_EQUAL);
  EXPECT_EQ(verdict.runs(3).verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_FALSE(verdict.passed());
}

}  // namespace
}  // namespace tandem::verify
