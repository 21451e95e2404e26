// `tandem verify` with the real coordinator and agent, and a trainer that only says what it did.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/testing/local_programs.h"
#include "tandem/v1/verify.pb.h"

namespace tandem::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class VerifyProcessTest : public LocalProgramsTest {
 protected:
  // On one worker, on one again, and on two.
  Result Verify(const std::string& behaviour, const std::string& options = "") {
    v1::JobSpec spec = spec::SampleSpec();
    spec.set_name(behaviour);
    WriteSpec(spec);
    return Tandem(absl::StrCat("verify ", spec_file_, " --workers 1,2 --steps 8 ", options));
  }
};

TEST_F(VerifyProcessTest, SameBits_ExitsWith0AndLeavesNothing) {
  const Result result = Verify("good");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("good: 8 steps, 2 logical ranks, seed 0"));
  EXPECT_THAT(result.out, EndsWith("bit-equal: 8 steps on 1 and 2 workers, every loss, every "
                                   "sample and every parameter\n"));
  EXPECT_THAT(result.err, HasSubstr("W = 2: 8 steps, loss 0.125"));
  EXPECT_TRUE(std::filesystem::is_empty(temporary_));
}

TEST_F(VerifyProcessTest, OtherBits_ExitsWith1AndHasDiagnosisAndBothValues) {
  const Result result = Verify("summed", "-o json");
  EXPECT_EQ(result.code, 1) << result.err;
  v1::Verification found;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &found).ok()) << result.out;
  EXPECT_EQ(found.verdict(), v1::VERDICT_DIFFERENT);
  EXPECT_EQ(found.diagnosis(), v1::DIAGNOSIS_GRADIENT_SCALE);
  EXPECT_EQ(found.difference().tensor(), "fc.weight");
  EXPECT_EQ(found.difference().value().first(), 1);
  EXPECT_EQ(found.difference().value().other(), 2);
  EXPECT_EQ(found.difference().value().differing(), 1u);
}

TEST_F(VerifyProcessTest, NoRunRepeatsItself_IsNamedAndNotLookedAtAgain) {
  const Result result = Verify("unseeded");
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("diagnosis: one run does not repeat itself"));
  EXPECT_THAT(result.err, testing::Not(HasSubstr("once more")));
}

TEST_F(VerifyProcessTest, ValuesThatCannotBeHad_LeaveTheVerdict) {
  const Result result = Verify("refuses-values");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("diagnosis: gradient scaled"));
  EXPECT_THAT(result.out, HasSubstr("first tensor: fc.weight after step 2\n"));
  EXPECT_THAT(result.err, HasSubstr("fc.weight without its values: "));
}

TEST_F(VerifyProcessTest, RanksThatDisagree_AreAFinding) {
  const Result result = Verify("drifts");
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("ended early: "));
  EXPECT_THAT(result.out, HasSubstr("diagnosis: ranks of one run drift apart\n"));
}

TEST_F(VerifyProcessTest, Page_IsWritten) {
  const std::string page = folder_ + "/page.html";
  EXPECT_EQ(Verify("summed", "--html " + page).code, 1);
  EXPECT_THAT(Contents(page), HasSubstr("<strong>gradient scaled</strong>"));
  const Result refused = Verify("good", "--html /no/such/folder/page.html");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "") << "it trained before it looked";
}

TEST_F(VerifyProcessTest, JobFails_ExitsWith1AndItsCause) {
  const Result result = Verify("refuses");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("line 3 has 4 columns"));
  EXPECT_TRUE(std::filesystem::is_empty(temporary_));
}

// A program that learns alike on any number of ranks, or, told so, takes the whole batch on each. It has no need of a
// port.
constexpr const char* kProgram = R"(
import json, os, sys
rank, world = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])
batch = 64 if 'whole' in sys.argv else 64 // world
for step in range(1, 11):
    if 'silent' in sys.argv: break
    if 'fails' in sys.argv and step == 3: raise ValueError('no such column')
    report = {'step': step, 'loss_sum': batch / step, 'count': batch, 'lr': 0.1}
    os.write(int(os.environ['TANDEM_REPORT_FD']), (json.dumps(report) + '\n').encode())
)";

class VerifyProgramTest : public VerifyProcessTest {
 protected:
  VerifyProgramTest() { std::ofstream(folder_ + "/train.py") << kProgram; }

  Result VerifyProgram(const std::string& arguments, const std::string& options = "") {
    return Tandem(absl::StrCat("verify --set command.store=none --workers 1,2 ", options,
                               " -- python3 ", folder_, "/train.py ", arguments));
  }
};

TEST_F(VerifyProgramTest, EqualLosses_ExitWith0) {
  const Result result = VerifyProgram("", "--steps 5");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("train: a program, 10 steps reported"));
  EXPECT_THAT(result.out, EndsWith("bit-equal: 10 steps on 1 and 2 workers, every loss that was "
                                   "reported\n"));
  EXPECT_THAT(result.err, HasSubstr("note: --steps has no effect"));
  EXPECT_TRUE(std::filesystem::is_empty(temporary_));
}

TEST_F(VerifyProgramTest, AWholeBatchOnEachRank_IsFoundFromTheCounts) {
  const Result result = VerifyProgram("whole", "-o json");
  EXPECT_EQ(result.code, 0) << "its losses are equal: " << result.err;
  v1::Verification found;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &found).ok()) << result.out;
  EXPECT_EQ(found.diagnosis(), v1::DIAGNOSIS_BATCH_SIZE);
  EXPECT_THAT(found.findings(0).sentence(), HasSubstr("128 samples at W = 2 and 64 at W = 1"));
}

TEST_F(VerifyProgramTest, NothingReported_SaysHowTo) {
  const Result result = VerifyProgram("silent");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("tandem_report.py"));
}

TEST_F(VerifyProgramTest, AProgramThatFails_IsNotTriedAgainAndItsTracebackShown) {
  const Result result = VerifyProgram("fails");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("ValueError: no such column"));
  EXPECT_THAT(result.err, HasSubstr("Traceback (most recent call last):"));
}

}  // namespace
}  // namespace tandem::client
