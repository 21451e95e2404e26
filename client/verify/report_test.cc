#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "absl/strings/str_split.h"
#include "client/verify/chart.h"
#include "client/verify/judge.h"
#include "client/verify/report_html.h"
#include "client/verify/report_text.h"
#include "client/verify/sample_evidence.h"
#include "client/verify/scale.h"
#include "common/temporary_folder.h"

namespace tandem::verify {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

v1::Verification Judged(const verify::Run& other) {
  v1::Verification verification = Judge({{GoodRun(1), GoodRun(1), other}}, {});
  verification.set_name("digits");
  verification.set_steps(kSteps);
  verification.set_logical_ranks(kLogicalRanks);
  verification.set_seed(42);
  return verification;
}

v1::Verification Equal() { return Judged(GoodRun(2)); }

// Of a program that was run on one and on two workers.
v1::Verification Reported() {
  verify::Run one = GoodRun(1), two = GoodRun(2);
  for (verify::Run* run : {&one, &two}) {
    run->ranks.clear();
    run->evaluations.clear();
    for (v1::StepSample& sample : run->samples) sample.clear_parameter_digest();
  }
  v1::Verification verification =
      Judge({{one, one, two}}, {v1::EQUIVALENCE_LEVEL_SEMANTIC, 1e-3, true});
  verification.set_name("train");
  verification.set_steps(kSteps);
  return verification;
}

v1::Verification Different() {
  verify::Run other = GoodRun(2);
  for (RankTrace& rank : other.ranks) rank.steps[0].set_gradient_norm(5);
  Derail(&other, 2, 1.5);
  v1::Verification verification = Judged(other);
  v1::DifferingValue* value = verification.mutable_difference()->mutable_value();
  value->add_index(3);
  value->set_first(0.25);
  value->set_other(0.5);
  value->set_differing(1);
  value->set_size(4);
  value->set_compared(4);
  return verification;
}

TEST(FormatVerification, BitEqual_IsATableAndASentence) {
  EXPECT_EQ(
      FormatVerification(Equal(), false),
      "digits: 8 steps, 2 logical ranks, seed 42, level bitwise\n"
      "\n"
      "WORKERS  LAST LOSS  PARAMETERS        BESIDE W = 1\n"
      "1        0.125      digest-of-step-8\n"
      "1 again  0.125      digest-of-step-8  bit-equal\n"
      "2        0.125      digest-of-step-8  bit-equal\n"
      "\n"
      "bit-equal: 8 steps on 1 and 2 workers, every loss, every sample, every parameter and the "
      "evaluation\n");
}

TEST(FormatVerification, Different_SaysWhereAndWhy) {
  const std::string text = FormatVerification(Different(), false);
  EXPECT_THAT(text, HasSubstr("2        0.1875     another           different\n"));
  EXPECT_THAT(text, HasSubstr("different: largest difference of a loss 0.333 of itself, at step"));
  EXPECT_THAT(text, HasSubstr("first difference: loss at step 2, between W = 1 and W = 2\n"));
  EXPECT_THAT(text, HasSubstr("loss of step 2: 0.5 at W = 1, 0.75 at W = 2\n"));
  EXPECT_THAT(text, HasSubstr("first tensor: fc.weight[3] after step 2: 0.25 at W = 1, 0.5 at "
                              "W = 2 (1 of 4 numbers differ)\n"));
  EXPECT_THAT(text, HasSubstr("diagnosis: gradient scaled\n    the gradient of step 1 is 2 times"));
}

TEST(FormatVerification, NothingHeldOut_SpeaksOfNoEvaluation) {
  v1::Verification verification = Equal();
  for (v1::VerifiedRun& run : *verification.mutable_runs()) run.clear_evaluation();
  EXPECT_THAT(FormatVerification(verification, false),
              HasSubstr("every loss, every sample and every parameter\n"));
}

TEST(FormatVerification, OtherEvaluation_HasBothLosses) {
  verify::Run other = GoodRun(2);
  other.evaluations[0].set_loss(0.25);
  EXPECT_THAT(FormatVerification(Judged(other), false),
              HasSubstr("first difference: evaluation at step 8, between W = 1 and W = 2\n"
                        "loss of the evaluation after step 8: 0.5 at W = 1, 0.25 at W = 2\n"));
}

TEST(FormatVerification, TensorOfWhichOnlyTheBeginningIsKnown_SaysSo) {
  v1::Verification verification = Different();
  v1::DifferingValue* value = verification.mutable_difference()->mutable_value();
  value->set_size(100);
  EXPECT_THAT(FormatVerification(verification, false),
              HasSubstr("(1 of the first 4 of 100 numbers differ)\n"));
  value->set_differing(0);
  EXPECT_THAT(
      FormatVerification(verification, false),
      HasSubstr("first tensor: fc.weight after step 2 (the first 4 of 100 numbers are equal)\n"));
}

TEST(FormatVerification, TensorOfOneRunOnly_SaysWhichDoesNotHaveIt) {
  v1::Verification verification = Different();
  verification.mutable_difference()->set_tensor_missing_in(1);
  EXPECT_THAT(FormatVerification(verification, false),
              HasSubstr("first tensor: fc.weight after step 2, which W = 1 does not have\n"));
}

class PageTest : public testing::Test {
 protected:
  // By a parser that is not ours, and does not forgive what browsers do.
  bool IsWellFormed(const std::string& page) const {
    std::ofstream(folder_.File("page.html")) << page;
    const std::string parse =
        "python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' " +
        folder_.File("page.html");
    return std::system(parse.c_str()) == 0;
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("tandem-test");
};

TEST_F(PageTest, BitEqual_IsWellFormedWithOneChart) {
  const std::string page = FormatPage(Equal());
  EXPECT_TRUE(IsWellFormed(page));
  EXPECT_THAT(page, HasSubstr("class=\"verdict good\""));
  EXPECT_THAT(page, HasSubstr("the loss of every step has the same bits in every run"));
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(page, "<svg ")), SizeIs(2));
}

TEST_F(PageTest, Different_IsWellFormedWithBothChartsAndTheDiagnosis) {
  const std::string page = FormatPage(Different());
  EXPECT_TRUE(IsWellFormed(page));
  EXPECT_THAT(page, HasSubstr("class=\"verdict bad\""));
  EXPECT_THAT(page, HasSubstr("<strong>gradient scaled</strong>"));
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(page, "<svg ")), SizeIs(3));
}

TEST_F(PageTest, NameWithMarkup_IsEscaped) {
  v1::Verification verification = Different();
  verification.set_name("<script>\"&");
  const std::string page = FormatPage(verification);
  EXPECT_TRUE(IsWellFormed(page));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

// Nothing is loaded from anywhere; names of namespaces are not places.
TEST_F(PageTest, NeedsNothingFromOutside) {
  const std::string page = FormatPage(Different());
  for (const char* reference : {"src=", "href=", "url(", "@import"}) {
    EXPECT_THAT(page, Not(HasSubstr(reference)));
  }
}

TEST_F(PageTest, LossesThatAreNoNumbers_LeaveGaps) {
  v1::Verification verification = Different();
  verification.mutable_runs(2)->set_losses(3, std::nan(""));
  EXPECT_TRUE(IsWellFormed(FormatPage(verification)));
  verification.clear_runs();
  verification.add_runs();
  EXPECT_TRUE(IsWellFormed(FormatPage(verification)));
}

TEST(Chart, NothingToDraw_IsEmpty) {
  EXPECT_THAT(Chart({}, YAxis::kLinear, "none"), IsEmpty());
  EXPECT_THAT(Chart({{"zeros", {0, 0}}}, YAxis::kLogarithmic, "none"), IsEmpty());
  EXPECT_THAT(Chart({{"zeros", {0, 0}}}, YAxis::kLinear, "some"), Not(IsEmpty()));
}

TEST(Scale, LinearTicks_AreRoundAndInside) {
  const Scale scale = Scale::Linear(0.13, 2.4);
  EXPECT_EQ(scale.PositionOf(0.13), 0);
  EXPECT_EQ(scale.PositionOf(2.4), 1);
  ASSERT_THAT(scale.ticks(), SizeIs(4));
  EXPECT_EQ(scale.ticks()[0].label, "0.5");
  EXPECT_EQ(scale.ticks()[3].label, "2");
}

TEST(Scale, Logarithmic_HasPowersOfTenAndZeroBelow) {
  const Scale scale = Scale::Logarithmic(3e-8, 2e-3);
  EXPECT_EQ(scale.PositionOf(0), 0);
  EXPECT_GT(scale.PositionOf(1e-8), 0);
  EXPECT_EQ(scale.PositionOf(1e-2), 1);
  EXPECT_EQ(scale.ticks().front().label, "0");
  EXPECT_EQ(scale.ticks()[1].label, "1e-8");
}

TEST(Scale, OneValueOnly_IsStillAnAxis) {
  EXPECT_THAT(Scale::Linear(3, 3).ticks(), Not(IsEmpty()));
  EXPECT_THAT(Scale::Logarithmic(1, 1).ticks(), Not(IsEmpty()));
}

TEST(FormatVerification, OfAProgram_SaysNothingOfWhatItDidNotReport) {
  const std::string text = FormatVerification(Reported(), false);
  EXPECT_THAT(text, HasSubstr("train: a program, 8 steps reported"));
  EXPECT_THAT(text, HasSubstr("every loss that was reported"));
  EXPECT_THAT(text, Not(HasSubstr("PARAMETERS")));
  EXPECT_THAT(text, Not(HasSubstr("logical")));
  EXPECT_THAT(FormatPage(Reported()), Not(HasSubstr("parameters")));
}

}  // namespace
}  // namespace tandem::verify
