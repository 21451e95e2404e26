// Programs that come to an end, in all the ways there are.
#include <signal.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/print_stacks.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/command/testing/command_job.h"

namespace tandem::command {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CommandProcess, Program_ExitsWithZero_RankIsFinished) {
  TestTrainer rank(TANDEM_COMMAND,
                   PrepareFor(ShellSpec("echo to stdout; echo to stderr >&2"), 0, 1));
  const v1::Prepared prepared = rank.Await().prepared();
  EXPECT_NE(prepared.master_port(), 0U);
  EXPECT_NE(prepared.report_port(), 0U);
  rank.Start(prepared);
  EXPECT_TRUE(rank.Await().has_finished());
  EXPECT_EQ(rank.AwaitExit(), 0);
  EXPECT_THAT(rank.Output(), HasSubstr("to stdout\n"));
  EXPECT_THAT(rank.Output(), HasSubstr("to stderr\n"));
}

TEST(CommandProcess, Program_ExitsWithACode_RankEndsWithTheSame) {
  const RankRecord record = RunOne(ShellSpec("exit 37"));
  EXPECT_EQ(record.exit_code, 37);
  EXPECT_FALSE(record.failure.has_value());
}

TEST(CommandProcess, Program_DiesOfASignal_RankEndsWithTheSame) {
  EXPECT_EQ(RunOne(ShellSpec("kill -SEGV $$")).exit_code, -SIGSEGV);
  EXPECT_EQ(RunOne(ShellSpec("kill -KILL $$")).exit_code, -SIGKILL);
}

TEST(CommandProcess, Program_DiesWithATraceback_ItIsTheLastThingOnStderr) {
  const RankRecord record = RunOne(PythonSpec("raise ValueError('no such file of data')"));
  EXPECT_EQ(record.exit_code, 1);
  EXPECT_THAT(record.output, ::testing::EndsWith("ValueError: no such file of data\n"));
  EXPECT_FALSE(record.failure.has_value());
}

TEST(CommandProcess, Program_InTwoRanks_EachHasItsOwnRank) {
  const auto records = RunRanks(ShellSpec("echo rank $RANK of $WORLD_SIZE at $MASTER_ADDR"), 2);
  EXPECT_THAT(records[0].output, HasSubstr("rank 0 of 2 at 127.0.0.1\n"));
  EXPECT_THAT(records[1].output, HasSubstr("rank 1 of 2 at 127.0.0.1\n"));
}

// The worker sets it for trainers; torchrun does not know it.
TEST(CommandProcess, ThreadsOfMkl_AreWhatTheProgramsEnvironmentSays) {
  setenv("MKL_NUM_THREADS", "3", 1);
  v1::JobSpec spec = ShellSpec("echo threads: ${MKL_NUM_THREADS-not set}");
  EXPECT_THAT(RunOne(spec).output, HasSubstr("threads: not set\n"));
  spec.mutable_command()->add_env("MKL_NUM_THREADS=2");
  EXPECT_THAT(RunOne(spec).output, HasSubstr("threads: 2\n"));
  unsetenv("MKL_NUM_THREADS");
}

// What torch.distributed.elastic's @record does.
TEST(CommandProcess, Program_WritesTheErrorFile_ItsExceptionIsTheFailure) {
  const RankRecord record = RunOne(PythonSpec(R"(
import json, os, sys
path = os.environ["TORCHELASTIC_ERROR_FILE"]
with open(path, "w") as file:
    json.dump({"message": {"message": "ValueError: no data", "extraInfo": {
        "py_callstack": "Traceback:\n  in load\nValueError: no data\n", "timestamp": "1"}}}, file)
sys.exit(1)
)"));
  ASSERT_TRUE(record.failure.has_value());
  EXPECT_EQ(record.failure->code(), v1::CAUSE_CODE_RANK_ERROR);
  EXPECT_EQ(record.failure->message(), "ValueError: no data");
  EXPECT_THAT(record.failure->last_lines(),
              ElementsAre("Traceback:", "  in load", "ValueError: no data"));
  EXPECT_EQ(record.exit_code, 1);
}

TEST(CommandProcess, Program_WritesTheErrorFileAndGoesOn_IsNoFailure) {
  const RankRecord record =
      RunOne(ShellSpec(R"(echo '{"message": "was caught"}' > $TORCHELASTIC_ERROR_FILE)"));
  EXPECT_FALSE(record.failure.has_value());
  EXPECT_EQ(record.exit_code, 0);
}

void ExpectBadInput(const v1::JobSpec& spec, const std::string& what) {
  const RankRecord record = RunOne(spec);
  ASSERT_TRUE(record.failure.has_value()) << what;
  EXPECT_EQ(record.failure->code(), v1::CAUSE_CODE_BAD_INPUT);
  EXPECT_THAT(record.failure->message(), HasSubstr(what));
  EXPECT_EQ(record.exit_code, 1);
}

TEST(CommandProcess, ProgramThatCannotBeStarted_IsBadInputAndSaysWhy) {
  ExpectBadInput(SpecOf({"no-such-program"}), "cannot start no-such-program: it is not in PATH");
  ExpectBadInput(SpecOf({"/no/such/program"}), "cannot start /no/such/program: exec: No such file");
  ExpectBadInput(SpecOf({"/etc/passwd"}), "cannot start /etc/passwd: exec: Permission denied");
}

TEST(CommandProcess, WorkingDir_IsWhereItStarts) {
  const TemporaryFolder folder = *TemporaryFolder::Create("working");
  v1::JobSpec spec = ShellSpec("pwd");
  spec.mutable_command()->set_working_dir(folder.path());
  EXPECT_THAT(RunOne(spec).output, HasSubstr(absl::StrCat("\n", folder.path(), "\n")));
  spec.mutable_command()->set_working_dir(folder.File("none"));
  ExpectBadInput(spec, "command.working_dir: there is no folder");
}

TEST(CommandProcess, Path_IsTheOneOfTheProgramsEnvironment) {
  v1::JobSpec spec = SpecOf({"sh", "-c", "true"});
  spec.mutable_command()->add_env("PATH=/nowhere");
  ExpectBadInput(spec, "it is not in PATH (/nowhere)");
}

TEST(CommandProcess, CheckpointFolder_IsThereBeforeTheProgram) {
  const TemporaryFolder folder = *TemporaryFolder::Create("checkpoints");
  v1::JobSpec spec = ShellSpec("cd $TANDEM_CHECKPOINT_DIR && pwd");
  spec.mutable_checkpoint()->set_dir(folder.File("all"));
  EXPECT_THAT(RunOne(spec).output, HasSubstr(folder.File("all/job-1\n")));
  spec.mutable_checkpoint()->set_dir("/proc/no");
  ExpectBadInput(spec, "checkpoint.dir: cannot make /proc/no/job-1");
}

TEST(CommandProcess, VariablesOfAnotherJobAround_AreNotInherited) {
  setenv("TANDEM_CHECKPOINT_DIR", "/of/the/outer/job", /*overwrite=*/1);
  setenv("KEPT", "yes", /*overwrite=*/1);
  const RankRecord record = RunOne(ShellSpec("echo \"[$TANDEM_CHECKPOINT_DIR] [$KEPT]\""));
  unsetenv("TANDEM_CHECKPOINT_DIR");
  EXPECT_THAT(record.output, HasSubstr("[] [yes]\n"));
}

TEST(CommandProcess, Sigterm_ReachesTheProgramWhichDecidesHowItEnds) {
  TestTrainer rank(TANDEM_COMMAND, PrepareFor(PythonSpec(R"(
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
print("runs", flush=True)
time.sleep(600)
)"),
                                              0, 1));
  StartAll({&rank});
  ASSERT_TRUE(AwaitOutput(rank, "runs\n"));
  rank.Terminate();
  EXPECT_EQ(rank.AwaitExit(), 9);
}

TEST(CommandProcess, SigtermBeforeStart_EndsTheRank) {
  TestTrainer rank(TANDEM_COMMAND, PrepareFor(ShellSpec("true"), 0, 1));
  EXPECT_TRUE(rank.Await().has_prepared());
  rank.Terminate();
  EXPECT_EQ(rank.AwaitExit(), -SIGTERM);
}

TEST(CommandProcess, SigtermWhileRankZeroWaitsForOthers_EndsTheRank) {
  TestTrainer zero(TANDEM_COMMAND, PrepareFor(ShellSpec("true"), 0, 2));
  StartAll({&zero});
  ASSERT_TRUE(AwaitPhase(zero, v1::PHASE_DONE));
  zero.Terminate();
  EXPECT_EQ(zero.AwaitExit(), -SIGTERM);
}

TEST(CommandProcess, Stacks_AreTheProgramsOwnAndWhatTheKernelSays) {
  TestTrainer rank(TANDEM_COMMAND, PrepareFor(PythonSpec(R"(
import faulthandler, signal, time
faulthandler.register(signal.SIGUSR2)
def wait_for_ever(): time.sleep(600)
print("runs", flush=True)
wait_for_ever()
)"),
                                              0, 1));
  StartAll({&rank});
  ASSERT_TRUE(AwaitOutput(rank, "runs\n"));
  kill(rank.pid(), kPrintStacksSignal);
  ASSERT_TRUE(AwaitOutput(rank, kEndOfStacks));
  EXPECT_THAT(rank.Output(), HasSubstr("in wait_for_ever"));
  EXPECT_THAT(rank.Output(),
              HasSubstr(absl::StrCat("thread ", rank.page().process(), " (python3): S")));
  EXPECT_THAT(rank.Output(), ::testing::EndsWith(absl::StrCat(kEndOfStacks, "\n")));
}

TEST(CommandProcess, StacksOfAProgramThatDoesNotKnowTheSignal_DoNotEndIt) {
  TestTrainer rank(TANDEM_COMMAND, PrepareFor(ShellSpec("echo runs; sleep 600"), 0, 1));
  StartAll({&rank});
  ASSERT_TRUE(AwaitOutput(rank, "runs\n"));
  kill(rank.pid(), kPrintStacksSignal);
  ASSERT_TRUE(AwaitOutput(rank, kEndOfStacks));
  EXPECT_EQ(kill(rank.page().process(), 0), 0);
}

}  // namespace
}  // namespace tandem::command
