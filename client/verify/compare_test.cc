#include "client/verify/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/verify/report_text.h"
#include "client/verify/sample_evidence.h"
#include "common/spec/sample_spec.h"
#include "common/spec/spec.h"

namespace tandem::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RecordedJob Job(const std::string& id) {
  RecordedJob recorded;
  recorded.job.set_id(id);
  recorded.job.set_world_size(1);
  *recorded.job.mutable_spec() = spec::SampleSpec();
  spec::FillDefaults(recorded.job.mutable_spec());
  recorded.samples = GoodRun(1).samples;
  recorded.evaluations = GoodRun(1).evaluations;
  return recorded;
}

TEST(Compare, SameSteps_AreBitEqual) {
  const v1::Comparison comparison = Compare(Job("a"), Job("b"));
  EXPECT_EQ(comparison.verdict(), v1::VERDICT_BIT_EQUAL);
  EXPECT_EQ(comparison.common_steps(), kSteps);
  EXPECT_THAT(comparison.differing_keys(), IsEmpty());
  EXPECT_EQ(FormatComparison(comparison), "bit-equal: a and b over 8 steps\n");
}

TEST(Compare, OtherLoss_IsDifferentAtItsStep) {
  RecordedJob other = Job("b");
  other.samples[3].set_loss_sum(2);
  const v1::Comparison comparison = Compare(Job("a"), other);
  EXPECT_EQ(comparison.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_EQ(comparison.difference().step(), 4u);
  EXPECT_EQ(comparison.difference().aspect(), v1::ASPECT_LOSS);
  EXPECT_THAT(FormatComparison(comparison), HasSubstr("a and b part at step 4: loss\n"));
}

TEST(Compare, KeysThatDiffer_AreListed) {
  RecordedJob other = Job("b");
  other.job.mutable_spec()->set_workers(2);
  other.job.mutable_spec()->mutable_optimizer()->mutable_adamw()->set_lr(0.5);
  EXPECT_THAT(Compare(Job("a"), other).differing_keys(),
              ElementsAre("workers: 1 -> 2", "optimizer.adamw.lr: 0.001 -> 0.5"));
}

TEST(Compare, JobThatWentOnFromACheckpoint_IsBitEqual) {
  RecordedJob other = Job("b");
  other.samples.erase(other.samples.begin(), other.samples.begin() + 5);
  const v1::Comparison comparison = Compare(Job("a"), other);
  EXPECT_EQ(comparison.verdict(), v1::VERDICT_BIT_EQUAL);
  EXPECT_EQ(comparison.common_steps(), 3u);
}

TEST(Compare, OtherReceiptAtTheFirstKnownStep_DiffersBefore) {
  RecordedJob other = Job("b");
  other.samples.erase(other.samples.begin(), other.samples.begin() + 5);
  for (v1::StepSample& sample : other.samples) sample.set_receipt(7);
  const v1::Comparison comparison = Compare(Job("a"), other);
  EXPECT_EQ(comparison.difference().aspect(), v1::ASPECT_EARLIER);
  EXPECT_EQ(comparison.difference().step(), 6u);
}

// 60 epochs, and from their end to 120, beside 120 unbroken: the one that ended in between has a
// digest of its last step, which is in no receipt.
TEST(Compare, JobThatWentOnFromTheEndOfAnother_IsBitEqualToAnUnbrokenOne) {
  RecordedJob unbroken = Job("unbroken");
  for (v1::StepSample& sample : unbroken.samples) sample.clear_parameter_digest();
  unbroken.samples.back().set_parameter_digest("last");
  RecordedJob half = unbroken, went_on = unbroken;
  half.samples.resize(4);
  half.samples.back().set_parameter_digest("half");
  half.job.mutable_spec()->set_epochs(60);
  went_on.samples.erase(went_on.samples.begin(), went_on.samples.begin() + 4);
  EXPECT_EQ(Compare(unbroken, went_on).verdict(), v1::VERDICT_BIT_EQUAL);
  EXPECT_EQ(Compare(half, unbroken).difference().aspect(), v1::ASPECT_LENGTH);
}

// The control: a digest that only one of them has does not keep receipts from being compared.
TEST(Compare, OtherReceiptAtTheEndOfOne_DiffersBefore) {
  RecordedJob unbroken = Job("unbroken"), ended = Job("ended");
  unbroken.samples[3].clear_parameter_digest();
  ended.samples = {ended.samples[3]};
  ended.samples[0].set_receipt(7);
  EXPECT_EQ(Compare(unbroken, ended).difference().aspect(), v1::ASPECT_EARLIER);
}

TEST(Compare, OtherEvaluation_IsDifferentWhereTheSameIsHeldOut) {
  RecordedJob other = Job("b");
  other.evaluations[0].set_loss(0.25);
  EXPECT_EQ(Compare(Job("a"), other).difference().aspect(), v1::ASPECT_EVALUATION);
  other.job.mutable_spec()->mutable_evaluate()->mutable_data()->mutable_csv()->set_path("/other");
  EXPECT_EQ(Compare(Job("a"), other).verdict(), v1::VERDICT_BIT_EQUAL);
}

TEST(Compare, ReceiptsOverDigestsOfOtherSteps_AreNotCompared) {
  RecordedJob other = Job("b");
  other.job.mutable_spec()->set_verify_every(7);
  for (v1::StepSample& sample : other.samples) sample.set_receipt(7);
  EXPECT_EQ(Compare(Job("a"), other).verdict(), v1::VERDICT_BIT_EQUAL);
}

TEST(Compare, JobThatEndedSooner_IsDifferent) {
  RecordedJob other = Job("b");
  other.samples.resize(3);
  const v1::Comparison comparison = Compare(Job("a"), other);
  EXPECT_EQ(comparison.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_EQ(comparison.difference().aspect(), v1::ASPECT_LENGTH);
  EXPECT_EQ(comparison.difference().step(), 4u);
}

}  // namespace
}  // namespace tandem::verify
