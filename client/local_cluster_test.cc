#include "client/local_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/temporary_folder.h"

namespace tandem::client {
namespace {

using ::testing::HasSubstr;

constexpr const char* kListens = R"(
while [ $# -gt 1 ]; do if [ "$1" = --port-file ]; then printf 'grpc 127.0.0.1:1234\n' >"$2"; fi; shift; done
)";
constexpr const char* kRunsForever = "exec sleep 1000\n";
constexpr const char* kFails = "echo no room on the disk >&2; exit 7\n";

// Shell scripts in the place of tandemd and tandem-worker.
class LocalClusterTest : public testing::Test {
 protected:
  LocalClusterTest() {
    temporary_ = folder_ + "/tmp";
    std::filesystem::create_directory(temporary_);
    setenv("TMPDIR", temporary_.c_str(), 1);
  }
  ~LocalClusterTest() override { unsetenv("TMPDIR"); }

  void Write(const std::string& name, const std::string& script) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  absl::StatusOr<std::unique_ptr<LocalCluster>> Start() {
    return LocalCluster::Start({folder_, "cpu:2", timeout_}, &interrupts_);
  }
  bool NothingIsLeft() const { return std::filesystem::is_empty(temporary_); }

  const TemporaryFolder place_ = *TemporaryFolder::Create("tandem-test");
  const std::string folder_ = place_.path();
  std::string temporary_;
  absl::Duration timeout_ = absl::Seconds(30);
  Interrupts interrupts_;
};

TEST_F(LocalClusterTest, BothPrograms_StartAndStopAndLeaveNothing) {
  Write("tandemd", absl::StrCat(kListens, kRunsForever));
  Write("tandem-worker", kRunsForever);
  {
    const auto cluster = Start();
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    EXPECT_EQ((*cluster)->address(), "127.0.0.1:1234");
    EXPECT_EQ((*cluster)->Failure(), absl::OkStatus());
    EXPECT_FALSE(NothingIsLeft());
  }
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(LocalClusterTest, CoordinatorFailsToStart_ErrorHasItsLastLines) {
  Write("tandemd", kFails);
  const auto cluster = Start();
  EXPECT_EQ(cluster.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(cluster.status().message()),
              HasSubstr("tandemd exited with code 7; its last lines:\n    no room on the disk"));
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(LocalClusterTest, WorkerEndsByItself_InterruptsAndSaysWhy) {
  Write("tandemd", absl::StrCat(kListens, kRunsForever));
  Write("tandem-worker", kFails);
  const auto cluster = Start();
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  ASSERT_TRUE(interrupts_.WaitFor(absl::Seconds(30), 0));
  EXPECT_THAT(std::string((*cluster)->Failure().message()), HasSubstr("tandem-worker exited"));
}

TEST_F(LocalClusterTest, CoordinatorNeverListens_TimesOut) {
  Write("tandemd", kRunsForever);
  timeout_ = absl::Milliseconds(20);
  EXPECT_THAT(std::string(Start().status().message()), HasSubstr("does not listen after 20ms"));
}

TEST_F(LocalClusterTest, InterruptedWhileStarting_IsCancelled) {
  Write("tandemd", kRunsForever);
  interrupts_.Notify();
  EXPECT_EQ(Start().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(LocalClusterTest, ProgramMissing_IsNotFoundAndNamed) {
  const auto cluster = Start();
  EXPECT_EQ(cluster.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(cluster.status().message()), HasSubstr(folder_ + "/tandemd"));
}

TEST_F(LocalClusterTest, ProgramThatIgnoresSigterm_IsKilled) {
  Write("stubborn", "trap '' TERM\necho > \"$1\"\nwhile :; do sleep 1000; done\n");
  const std::string mark = folder_ + "/trap-is-set";
  auto child = ChildProcess::Start({{folder_ + "/stubborn", mark}, folder_ + "/log", nullptr});
  ASSERT_TRUE(child.ok());
  while (!std::filesystem::exists(mark)) interrupts_.WaitFor(absl::Milliseconds(1), 0);
  (*child)->Stop(absl::Milliseconds(10));
  EXPECT_TRUE((*child)->has_ended());
  EXPECT_THAT((*child)->Obituary(), HasSubstr("stubborn was ended by signal 9"));
}

// The process that dies is a copy of this one, so that the orphan comes to us to be waited for.
TEST_F(LocalClusterTest, ParentIsKilled_ChildDiesToo) {
  Write("child", absl::StrCat("echo $$ > \"$1.tmp\"; mv \"$1.tmp\" \"$1\"\n", kRunsForever));
  const std::string pid_file = folder_ + "/pid";
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = fork();
  if (parent == 0) {
    const auto child =
        ChildProcess::Start({{folder_ + "/child", pid_file}, folder_ + "/log", nullptr});
    pause();
  }
  while (!std::filesystem::exists(pid_file)) interrupts_.WaitFor(absl::Milliseconds(1), 0);
  pid_t child = 0;
  std::ifstream(pid_file) >> child;
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

}  // namespace
}  // namespace tandem::client
