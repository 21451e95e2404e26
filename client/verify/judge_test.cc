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

TEST(Judge, OneBitOfAnEvaluation_IsDifferent) {
  verify::Run loss = GoodRun(2), accuracy = GoodRun(2), samples = GoodRun(2), none = GoodRun(2);
  loss.evaluations[0].set_loss(std::nextafter(0.5, 1));
  accuracy.evaluations[0].set_accuracy(std::nextafter(0.75, 1));
  samples.evaluations[0].set_samples(1);
  none.evaluations.clear();
  for (const verify::Run& other : {loss, accuracy, samples, none}) {
    const v1::Verification verdict = JudgeRuns({GoodRun(1), GoodRun(1), other});
    EXPECT_EQ(verdict.verdict(), v1::VERDICT_DIFFERENT);
    EXPECT_EQ(verdict.difference().step(), kSteps);
    EXPECT_EQ(verdict.difference().aspect(), v1::ASPECT_EVALUATION);
  }
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

// As the state of an optimizer is of a parameter that has had no gradient yet.
TEST(Judge, TensorThatOnlyOneRunHas_IsDifferentAndNamed) {
  verify::Run more = GoodRun(2);
  for (RankTrace& rank : more.ranks) *rank.steps[4].add_tensors() = Digest("fc.exp_avg", "more");
  const v1::Verification added = JudgeRuns({GoodRun(1), GoodRun(1), more});
  EXPECT_EQ(added.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_EQ(added.difference().tensor(), "fc.exp_avg");
  EXPECT_EQ(added.difference().tensor_step(), 5u);
  EXPECT_EQ(added.difference().tensor_missing_in(), 1u);
  verify::Run none = GoodRun(2);
  for (RankTrace& rank : none.ranks) rank.steps[4].clear_tensors();
  const v1::Verification missing = JudgeRuns({GoodRun(1), GoodRun(1), none});
  EXPECT_EQ(missing.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_EQ(missing.difference().tensor(), "fc.weight");
  EXPECT_EQ(missing.difference().tensor_missing_in(), 2u);
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

TEST(Judge, SemanticJob_IsHeldToItsToleranceWhereItIsMeasured) {
  verify::Run near = GoodRun(2), far = GoodRun(2), fewer = GoodRun(2);
  near.evaluations[0].set_loss(0.50001);
  far.evaluations[0].set_loss(0.51);
  fewer.evaluations[0].set_samples(1);
  EXPECT_EQ(JudgeRuns({GoodRun(1), GoodRun(1), near}, kSemantic).verdict(),
            v1::VERDICT_WITHIN_TOLERANCE);
  EXPECT_FALSE(JudgeRuns({GoodRun(1), GoodRun(1), far}, kSemantic).passed());
  EXPECT_FALSE(JudgeRuns({GoodRun(1), GoodRun(1), fewer}, kSemantic).passed());
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

TEST(Judge, SemanticJobWhoseRanksDisagreeAtTheEnd_Fails) {
  verify::Run other = GoodRun(2);
  EndInDisagreement(&other, kSteps);
  other.evaluations = GoodRun(2).evaluations;
  const v1::Verification verdict = JudgeRuns({GoodRun(1), GoodRun(1), other}, kSemantic);
  EXPECT_FALSE(verdict.passed());
  EXPECT_EQ(verdict.diagnosis(), v1::DIAGNOSIS_RANKS_DRIFT);
}

TEST(Judge, RanksDisagreeInBothRunsOfTheFirstSize_IsNamed) {
  verify::Run disagrees = GoodRun(2);
  EndInDisagreement(&disagrees, 3);
  const v1::Verification verdict = JudgeRuns({disagrees, disagrees});
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_EQ(verdict.diagnosis(), v1::DIAGNOSIS_RANKS_DRIFT);
  EXPECT_EQ(verdict.findings_size(), 1);
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
