#include "common/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

constexpr char kSleep[] = "/bin/sleep";

// A program that does nothing until it is killed.
class Sleeper {
 public:
  explicit Sleeper(Command command, FileDescriptor held_until_exec = {}) {
    command.arguments = {"600"};
    pid_ = *Spawn(command, std::move(held_until_exec));
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(Spawn, WorkingDir_IsWhereTheProgramIs) {
  const TemporaryFolder folder = *TemporaryFolder::Create("spawn");
  const Sleeper sleeper({.path = kSleep, .working_dir = folder.path()});
  EXPECT_EQ(std::filesystem::read_symlink(absl::StrCat("/proc/", sleeper.pid(), "/cwd")),
            folder.path());
}

TEST(Spawn, WorkingDirThatIsMissing_IsNamedInTheError) {
  const auto pid = Spawn({.path = kSleep, .working_dir = "/no/such/folder"});
  EXPECT_THAT(std::string(pid.status().message()), HasSubstr("/bin/sleep in /no/such/folder"));
}

TEST(Spawn, Group_IsItsOwnOrTheOneThatIsGiven) {
  const Sleeper leader({.path = kSleep});
  EXPECT_EQ(getpgid(leader.pid()), leader.pid());
  const Sleeper follower({.path = kSleep, .group = leader.pid()});
  EXPECT_EQ(getpgid(follower.pid()), leader.pid());
}

TEST(Spawn, GroupThatIsNoMore_IsAnError) {
  pid_t gone = 0;
  {
    const Sleeper leader({.path = kSleep});
    gone = leader.pid();
  }
  const auto pid = Spawn({.path = kSleep, .group = gone});
  EXPECT_EQ(pid.status().code(), absl::StatusCode::kPermissionDenied) << pid.status();
}

TEST(Spawn, HeldUntilExec_IsOpenNowhereOnceTheProgramRuns) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor read_end(ends[0]);
  const Sleeper sleeper({.path = kSleep}, FileDescriptor(ends[1]));
  char byte;
  EXPECT_EQ(read(read_end.get(), &byte, 1), 0);
}

}  // namespace
}  // namespace tandem
