// Whatever a program does and whoever is killed: no process is left.
#include <signal.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/print_stacks.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/command/testing/command_job.h"

namespace tandem::command {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A child in its group, one in a session of its own, and one whose parent has ended (a daemon), all deaf to
// SIGTERM. Each says that it is there.
constexpr char kChildren[] = R"(
import os, signal, sys, time

def child(path, *, session, twice):
    if os.fork():
        return
    if session:
        os.setsid()
    if twice and os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open(path, "w").close()
    time.sleep(600)

folder = os.environ["FOLDER"]
for name, session, twice in (("plain", 0, 0), ("session", 1, 0), ("daemon", 1, 1)):
    child(f"{folder}/{name}", session=session, twice=twice)
while len(os.listdir(folder)) < 3:
    time.sleep(0.001)
print("all are there", flush=True)
)";

class LeftBehindTest : public ::testing::Test {
 protected:
  v1::JobSpec Spec(const std::string& end) {
    v1::JobSpec spec = PythonSpec(absl::StrCat(kChildren, end));
    spec.mutable_command()->add_env(absl::StrCat("FOLDER=", folder_.path()));
    spec.mutable_command()->add_env(marker_);
    return spec;
  }
  v1::JobSpec SpecThatStays() {
    return Spec(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "open(folder + '.ready', 'w').write('ready\\n')\ntime.sleep(600)\n");
  }

  // Runs until the program and its children are there.
  std::unique_ptr<TestTrainer> StartAndAwaitReady() {
    auto rank = std::make_unique<TestTrainer>(TANDEM_COMMAND, PrepareFor(SpecThatStays(), 0, 1));
    StartAll({rank.get()});
    EXPECT_EQ(AwaitLine(folder_.path() + ".ready"), "ready");
    EXPECT_GE(ProcessesOf(marker_).size(), 4U);
    return rank;
  }

  void TearDown() override {
    std::remove((folder_.path() + ".ready").c_str());
    for (const pid_t process : ProcessesOf(marker_)) kill(process, SIGKILL);
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Create("left-behind");
  const std::string marker_ = NewMarker();
};

TEST_F(LeftBehindTest, ProgramEnds_ItsChildrenDoNotOutliveIt) {
  const RankRecord record = RunOne(Spec(""));
  EXPECT_EQ(record.exit_code, 0);
  EXPECT_THAT(record.output, HasSubstr("all are there"));
  EXPECT_THAT(ProcessesOf(marker_), IsEmpty());
}

TEST_F(LeftBehindTest, ProgramFails_ItsChildrenDoNotOutliveIt) {
  const RankRecord record = RunOne(Spec("sys.exit(3)"));
  EXPECT_EQ(record.exit_code, 3);
  EXPECT_THAT(record.output, HasSubstr("all are there"));
  EXPECT_THAT(ProcessesOf(marker_), IsEmpty());
}

TEST_F(LeftBehindTest, RankIsKilled_NothingOutlivesIt) {
  const auto rank = StartAndAwaitReady();
  rank->Kill();
  EXPECT_EQ(rank->AwaitExit(), -SIGKILL);
  EXPECT_TRUE(AwaitNoProcessOf(marker_));
}

TEST_F(LeftBehindTest, GroupIsKilled_NothingOutlivesIt) {
  const auto rank = StartAndAwaitReady();
  kill(-rank->pid(), SIGKILL);
  EXPECT_EQ(rank->AwaitExit(), -SIGKILL);
  EXPECT_TRUE(AwaitNoProcessOf(marker_));
}

TEST_F(LeftBehindTest, ProgramIsKilled_RankEndsTheSameWithNothingLeft) {
  const auto rank = StartAndAwaitReady();
  kill(rank->page().process(), SIGKILL);
  EXPECT_EQ(rank->AwaitExit(), -SIGKILL);
  EXPECT_THAT(ProcessesOf(marker_), IsEmpty());
}

// The process behind the one that the agent knows.
TEST_F(LeftBehindTest, LauncherIsKilled_NothingOutlivesIt) {
  const auto rank = StartAndAwaitReady();
  kill(ParentOf(rank->page().process()), SIGKILL);
  EXPECT_EQ(rank->AwaitExit(), -SIGKILL);
  EXPECT_THAT(ProcessesOf(marker_), IsEmpty());
}

TEST_F(LeftBehindTest, AgentIsGone_NothingOutlivesIt) {
  const auto rank = StartAndAwaitReady();
  rank->CloseAgentEnd();
  EXPECT_EQ(rank->AwaitExit(), 1);
  EXPECT_THAT(ProcessesOf(marker_), IsEmpty());
}

TEST_F(LeftBehindTest, DeafToSigterm_RankWaitsForItsProgram) {
  const auto rank = StartAndAwaitReady();
  const pid_t program = rank->page().process();
  rank->Terminate();
  // Both are still there after anything that SIGTERM could have done to them.
  kill(rank->pid(), kPrintStacksSignal);
  ASSERT_TRUE(AwaitOutput(*rank, kEndOfStacks));
  EXPECT_EQ(kill(program, 0), 0);
  EXPECT_EQ(kill(rank->pid(), 0), 0);
}

}  // namespace
}  // namespace tandem::command
