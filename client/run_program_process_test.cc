// Programs run by `tandem run --local` and `tandem-torchrun`, on the real coordinator, agent and launcher. They meet nobody,
// so that no store need be hosted for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "client/testing/local_programs.h"

namespace tandem::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class RunProgramTest : public LocalProgramsTest {
 protected:
  static constexpr const char* kLocal = "run --set command.store=none --local 2 ";
};

TEST_F(RunProgramTest, ItsRanksAreShownAsTheyPrint) {
  const Result result = Tandem(
      absl::StrCat(kLocal, "-- sh -c 'echo hello from $RANK of $WORLD_SIZE; echo a warning >&2'"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[0] hello from 0 of 2\n"));
  EXPECT_THAT(result.out, HasSubstr("[1] hello from 1 of 2\n"));
  EXPECT_THAT(result.out, HasSubstr("  SUCCEEDED\n"));
  EXPECT_THAT(result.err, HasSubstr("[1] a warning\n"));
  EXPECT_THAT(result.err, Not(HasSubstr("tandem-command"))) << "what it says is for describe";
  EXPECT_TRUE(std::filesystem::is_empty(temporary_));
}

TEST_F(RunProgramTest, ManyLines_AreAllShownBeforeTheSummary) {
  const Result result = Tandem(absl::StrCat(kLocal, "-- sh -c 'seq 5000'"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[0] 5000\n"));
  EXPECT_THAT(result.out, HasSubstr("[1] 5000\n"));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '['), 10000);
}

TEST_F(RunProgramTest, AFailure_HasItsTracebackInTheSummaryAndExitsWith1) {
  const Result result = Tandem(
      absl::StrCat(kLocal, "--max-restarts 0 -- python3 -c 'raise ValueError(\"no column\")'"));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("ValueError: no column\n    Traceback (most recent"));
  EXPECT_THAT(result.out, EndsWith("    ValueError: no column\n"));
}

TEST_F(RunProgramTest, AnotherAttempt_IsToldApart) {
  const std::string logs = folder_ + "/logs";
  const Result result =
      Tandem(absl::StrCat(kLocal, "--max-restarts 1 --set restart.backoff=1ms --log-dir ", logs,
                          " -- sh -c 'echo $TORCHELASTIC_RESTART_COUNT; [ $TANDEM_ATTEMPT = 2 ]'"));
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("[2:1] 1\n"));
  // A folder of the job's own, so that another run overwrites nothing.
  const auto job = std::filesystem::directory_iterator(logs)->path();
  EXPECT_EQ(Contents(job / "attempt_2/0/stdout.log"), "1\n");
  EXPECT_EQ(Contents(job / "attempt_2/1/stderr.log"), "");
}

TEST_F(RunProgramTest, ReaderOfItsOutputLeaves_TheJobIsCancelled) {
  const Result result = Tandem(absl::StrCat(
      kLocal, "--workers 1 -- sh -c 'while echo tick; do sleep 0.01; done' | head -2"));
  EXPECT_EQ(result.out, "[0] tick\n[0] tick\n");
  EXPECT_THAT(result.err, HasSubstr("cancelling "));
}

TEST_F(RunProgramTest, FolderAndVariables_AreThoseOfTheCommandLine) {
  const Result result = Tandem(absl::StrCat(kLocal, "--env A=b --seed 7 --working-dir ", folder_,
                                            " -- sh -c 'pwd; echo $A $TANDEM_SEED'"));
  EXPECT_THAT(result.out, HasSubstr("[0] " + folder_ + "\n[0] b 7\n")) << result.err;
}

TEST_F(RunProgramTest, TorchrunsCommandLine_RunsOnThisMachine) {
  // Nobody asks it.
  WriteProgram("tandem-store", "exec sleep 1000");
  std::ofstream(folder_ + "/train.py")
      << "import os, sys\nprint(os.environ['LOCAL_RANK'], sys.argv[1:])\n";
  const Result result = Tandem(absl::StrCat("version; unset TANDEM_COORDINATOR; ", program_,
                                            " torchrun --nproc_per_node=2 --rdzv_id=x ", folder_,
                                            "/train.py --nproc_per_node 7"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[0] 0 ['--nproc_per_node', '7']\n"));
  EXPECT_THAT(result.out, HasSubstr("[1] 1 ['--nproc_per_node', '7']\n"));
}

}  // namespace
}  // namespace tandem::client
