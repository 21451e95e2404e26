// Programs, of which there is only what they reported: who is judged how, and what is found.
#include "client/verify/causes_in_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/verify/judge.h"

namespace tandem::verify {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kReportedSteps = 10;
constexpr uint64_t kReportedBatch = 64;

// A program on so many workers that reports the loss over all of them.
verify::Run Program(uint32_t world_size) {
  verify::Run run;
  run.world_size = world_size;
  for (uint64_t step = 1; step <= kReportedSteps; ++step) {
    v1::StepSample sample;
    sample.set_step(step);
    sample.set_count(kReportedBatch);
    sample.set_loss_sum(kReportedBatch / static_cast<double>(step));
    sample.set_learning_rate(0.1);
    run.samples.push_back(sample);
  }
  return run;
}

// Losses from `step` on are larger by this share of themselves.
void Shift(verify::Run* run, uint64_t step, double share) {
  for (v1::StepSample& sample : run->samples) {
    if (sample.step() >= step) sample.set_loss_sum(sample.loss_sum() * (1 + share));
  }
}

void Scale(verify::Run* run, double factor) {
  for (v1::StepSample& sample : run->samples) {
    sample.set_count(static_cast<uint64_t>(static_cast<double>(sample.count()) * factor));
    sample.set_loss_sum(sample.loss_sum() * factor);
  }
}

v1::Verification JudgePrograms(const verify::Run& again, const verify::Run& other) {
  return Judge({{Program(1), again, other}}, {v1::EQUIVALENCE_LEVEL_SEMANTIC, 1e-3, true});
}
v1::Verification JudgeProgram(const verify::Run& other) { return JudgePrograms(Program(1), other); }

std::string Sentence0(const v1::Verification& verification) {
  return verification.findings().empty() ? "" : verification.findings(0).sentence();
}

TEST(JudgeReports, EqualLosses_AreBitEqual) {
  const v1::Verification found = JudgeProgram(Program(2));
  EXPECT_EQ(found.verdict(), v1::VERDICT_BIT_EQUAL);
  EXPECT_TRUE(found.passed());
  EXPECT_TRUE(found.reported());
  EXPECT_THAT(found.findings(), IsEmpty());
}

TEST(JudgeReports, LossesWithinTheTolerance_Pass) {
  verify::Run other = Program(2);
  Shift(&other, 4, 1e-7);
  const v1::Verification found = JudgeProgram(other);
  EXPECT_EQ(found.verdict(), v1::VERDICT_WITHIN_TOLERANCE);
  EXPECT_TRUE(found.passed());
  EXPECT_EQ(found.diagnosis(), v1::DIAGNOSIS_ORDER_OF_ADDITIONS);
  EXPECT_THAT(Sentence0(found), HasSubstr("step 4"));
}

TEST(JudgeReports, OneLossBeyondTheTolerance_IsDifferent) {
  verify::Run other = Program(2);
  other.samples[4].set_loss_sum(other.samples[4].loss_sum() * 1.01);
  const v1::Verification found = JudgeProgram(other);
  EXPECT_EQ(found.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_EQ(found.difference().step(), 5u);
  EXPECT_EQ(found.runs(2).largest_difference_step(), 5u);
  EXPECT_EQ(found.diagnosis(), v1::DIAGNOSIS_UNKNOWN);
  EXPECT_THAT(Sentence0(found), HasSubstr("at step 5, after steps that are equal"));
}

TEST(JudgeReports, AStepThatIsMissing_IsDifferentWhateverTheLosses) {
  verify::Run other = Program(2);
  other.samples.erase(other.samples.begin() + 3);
  EXPECT_EQ(JudgeProgram(other).verdict(), v1::VERDICT_DIFFERENT);
}

TEST(JudgeReports, OtherCountsWithEqualLosses_PassWithARemark) {
  verify::Run other = Program(2);
  other.samples.back().set_count(kReportedBatch * 2);
  other.samples.back().set_loss_sum(other.samples.back().loss_sum() * 2);
  const v1::Verification found = JudgeProgram(other);
  EXPECT_EQ(found.verdict(), v1::VERDICT_WITHIN_TOLERANCE);
  EXPECT_EQ(found.diagnosis(), v1::DIAGNOSIS_SAMPLES_TWICE_OR_NEVER);
  EXPECT_THAT(Sentence0(found), HasSubstr("704 samples in 10 steps and W = 1 640 in 10"));
}

TEST(JudgeReports, ABatchForEachRank_IsAnotherGlobalBatch) {
  verify::Run other = Program(2);
  Scale(&other, 2);
  Shift(&other, 2, 0.2);
  const v1::Verification found = JudgeProgram(other);
  EXPECT_EQ(found.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_EQ(found.diagnosis(), v1::DIAGNOSIS_BATCH_SIZE);
  EXPECT_THAT(Sentence0(found), HasSubstr("128 samples at W = 2 and 64 at W = 1, 2 times"));
  EXPECT_THAT(Sentence0(found), HasSubstr("the batch is that of one rank"));
}

TEST(JudgeReports, OneRankAloneReporting_IsTold) {
  verify::Run other = Program(2);
  Scale(&other, 0.5);
  Shift(&other, 1, 0.2);
  EXPECT_THAT(Sentence0(JudgeProgram(other)), HasSubstr("one rank alone reports its share"));
}

TEST(JudgeReports, FewerStepsOfTheSameBatch_AreMissingSamples) {
  verify::Run other = Program(2);
  other.samples.resize(5);
  const v1::Verification found = JudgeProgram(other);
  EXPECT_EQ(found.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_EQ(found.difference().aspect(), v1::ASPECT_LENGTH);
  EXPECT_EQ(found.diagnosis(), v1::DIAGNOSIS_SAMPLES_TWICE_OR_NEVER);
}

TEST(JudgeReports, AnotherLearningRate_IsNamedWithItsStep) {
  verify::Run other = Program(2);
  other.samples[2].set_learning_rate(0.2);
  Shift(&other, 3, 0.5);
  const v1::Verification found = JudgeProgram(other);
  EXPECT_EQ(found.diagnosis(), v1::DIAGNOSIS_LEARNING_RATE);
  EXPECT_THAT(Sentence0(found), HasSubstr("step 3 is 0.2 at W = 2 and 0.1 at W = 1"));
}

TEST(JudgeReports, OtherSamples_AreKnownFromTheirDigests) {
  verify::Run first = Program(1), other = Program(2);
  for (v1::StepSample& sample : first.samples) sample.set_samples_digest(sample.step());
  for (v1::StepSample& sample : other.samples) sample.set_samples_digest(sample.step());
  other.samples[1].set_samples_digest(99);
  Shift(&other, 2, 0.5);
  const v1::Verification found =
      Judge({{first, first, other}}, {v1::EQUIVALENCE_LEVEL_SEMANTIC, 1e-3, true});
  EXPECT_EQ(found.diagnosis(), v1::DIAGNOSIS_OTHER_ORDER);
  EXPECT_THAT(Sentence0(found), HasSubstr("step 2 was trained on other samples"));
}

TEST(JudgeReports, LossesThatPartAtTheFirstStep_SayWhereToLook) {
  verify::Run other = Program(2);
  Shift(&other, 1, 0.5);
  const v1::Verification found = JudgeProgram(other);
  EXPECT_EQ(found.diagnosis(), v1::DIAGNOSIS_UNKNOWN);
  EXPECT_THAT(Sentence0(found), HasSubstr("step 1, the first: look at initial weights"));
}

TEST(JudgeReports, AProgramThatDoesNotRepeatItself_IsOnlyThat) {
  verify::Run again = Program(1), other = Program(2);
  Shift(&again, 3, 0.5);
  Scale(&other, 2);
  const v1::Verification found = JudgePrograms(again, other);
  EXPECT_EQ(found.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_THAT(found.findings(), SizeIs(1));
  EXPECT_EQ(found.diagnosis(), v1::DIAGNOSIS_NOT_REPEATABLE);
  EXPECT_THAT(Sentence0(found), HasSubstr("the loss of step 3 is "));
}

TEST(JudgeReports, AProgramThatRepeatsItselfWithinTheTolerance_IsComparedWithMoreWorkers) {
  verify::Run again = Program(1), other = Program(2);
  Shift(&again, 3, 1e-8);
  Shift(&other, 1, 0.5);
  const v1::Verification found = JudgePrograms(again, other);
  EXPECT_EQ(found.runs(1).verdict(), v1::VERDICT_WITHIN_TOLERANCE);
  EXPECT_EQ(found.diagnosis(), v1::DIAGNOSIS_UNKNOWN);
}

}  // namespace
}  // namespace tandem::verify
