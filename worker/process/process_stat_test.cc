#include "worker/process/process_stat.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tandem {
namespace {

std::string Line(const std::string& name, char state, uint64_t flags = 0x400000, uint64_t user = 0,
                 uint64_t system = 0) {
  return absl::StrCat("77 (", name, ") ", std::string(1, state), " 1 77 77 0 -1 ", flags,
                      " 10 0 0 0 ", user, " ", system, " 0 0 20 0 1 0 5 1000 10\n");
}

TEST(ProcessStat, States_AreToldApart) {
  const auto state = [](char letter) { return ParseProcessStat(Line("t", letter))->state; };
  EXPECT_EQ(state('R'), v1::PROCESS_STATE_RUNNING);
  EXPECT_EQ(state('S'), v1::PROCESS_STATE_SLEEPING);
  EXPECT_EQ(state('T'), v1::PROCESS_STATE_STOPPED);
  EXPECT_EQ(state('t'), v1::PROCESS_STATE_STOPPED);
  EXPECT_EQ(state('D'), v1::PROCESS_STATE_BLOCKED);
  EXPECT_EQ(state('Z'), v1::PROCESS_STATE_UNSPECIFIED);
}

TEST(ProcessStat, NameLikeFields_IsNotTakenForThem) {
  const auto stat = ParseProcessStat(Line("a) T 1 2 3 (b", 'R'));
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->state, v1::PROCESS_STATE_RUNNING);
}

// What tells a process that is being killed from one that runs, before anybody can wait for it: the
// window itself is too short to be met on purpose.
TEST(ProcessStat, ExitingFlag_IsSeenInAnyState) {
  EXPECT_FALSE(ParseProcessStat(Line("t", 'S'))->is_exiting);
  EXPECT_TRUE(ParseProcessStat(Line("t", 'S', 0x400004))->is_exiting);
  EXPECT_TRUE(ParseProcessStat(Line("t", 'R', 0x4))->is_exiting);
  EXPECT_TRUE(ParseProcessStat(Line("t", 'Z'))->is_exiting);
}

TEST(ProcessStat, Parent_IsThatOfTheLine) {
  EXPECT_EQ(ParseProcessStat("77 (t) S 41 77 77 0 -1 0 0 0 0 0 0 0 0")->parent, 41);
}

TEST(ProcessStat, CpuTime_IsUserAndSystem) {
  const auto ticks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  EXPECT_EQ(ParseProcessStat(Line("t", 'R', 0, 2 * ticks, ticks))->cpu_time, absl::Seconds(3));
}

TEST(ProcessStat, Garbage_IsNoStat) {
  for (const char* text :
       {"", "77", "77 (t)", "77 (t) R 1 2", "77 (t) R a b c d e f g h i j k l"}) {
    EXPECT_FALSE(ParseProcessStat(text).has_value()) << text;
  }
}

TEST(ProcessStat, RealProcess_StoppedAndEnded) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  kill(child, SIGSTOP);
  int status = 0;
  waitpid(child, &status, WUNTRACED);
  EXPECT_EQ(ReadProcessStat(child)->state, v1::PROCESS_STATE_STOPPED);
  EXPECT_FALSE(ReadProcessStat(child)->is_exiting);
  kill(child, SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_TRUE(ReadProcessStat(child)->is_exiting);
  waitpid(child, &status, 0);
  EXPECT_FALSE(ReadProcessStat(child).has_value());
}

}  // namespace
}  // namespace tandem
