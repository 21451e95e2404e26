// Programs that come to an end, in all the ways there are.
#include <signal.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/command/testing/command_job.h"

namespace tandem::command {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(CommandProcess, Program_ExitsWithZero_RankIsFinished) {
  TestTrainer rank(TANDEM_COMMAND,
                   PrepareFor(ShellSpec("echo to stdout; echo to stderr >&2"), 0, 1));
  const v1::Prepared prepared = rank.Await().prepared();
  EXPECT_NE(prepared.master_port(), 0U);
  EXPECT_NE(prepared.report_port(), 0U);
  rank.Start(prepared.master_port(), prepared.report_port());
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

}  // namespace
}  // namespace tandem::command
