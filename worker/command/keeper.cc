#include "worker/command/keeper.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <iostream>

#include "common/clock.h"
#include "common/parent_death.h"
#include "worker/command/descendants.h"
#include "worker/command/ending.h"

namespace tandem::command {
namespace {

sigset_t HandledSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR2, SIGCHLD, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

// Returns when there is no child left, adopted ones included, or those that are left do not end.
void KillRest() {
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  constexpr timespec kPoll{.tv_sec = 0, .tv_nsec = 2'000'000};
  const SystemClock clock;
  const absl::Duration deadline = clock.Now().steady + kSweepPatience;
  while (true) {
    const auto left = KillDescendants(/*spared=*/0);
    pid_t reaped = 0;
    while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0) return;
    if (clock.Now().steady >= deadline) {
      std::cerr << "tandem-command: " << DescribeLeftBehind(left) << std::endl;
      return;
    }
    sigtimedwait(&child_ended, nullptr, &kPoll);
  }
}

// Whether it was among the children that have ended.
bool ReapUntil(pid_t child, int* status) {
  int reaped_status = 0;
  bool found = false;
  for (pid_t pid = 0; (pid = waitpid(-1, &reaped_status, WNOHANG)) > 0;) {
    if (pid != child) continue;
    found = true;
    *status = reaped_status;
  }
  return found;
}

[[noreturn]] void Keep(pid_t child) {
  // Its descriptors are the child's: an agent must see them closed when that is gone.
  close_range(STDERR_FILENO + 1, ~0U, 0);
  const sigset_t signals = HandledSignals();
  int status = 0;
  while (true) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&signals, &info);
    if (signal == SIGCHLD && ReapUntil(child, &status)) break;
    if (signal > 0 && signal != SIGCHLD) kill(child, signal);
  }
  KillRest();
  EndLike(ExitStatusOf(status));
}

}  // namespace

pid_t SplitFromKeeper() {
  const sigset_t signals = HandledSignals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t keeper = getpid();
  const pid_t child = fork();
  if (child < 0) {
    std::perror("tandem-command: fork");
    _exit(1);
  }
  if (child > 0) Keep(child);
  setpgid(0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  DieWithParent(SIGHUP, keeper);
  return keeper;
}

}  // namespace tandem::command
