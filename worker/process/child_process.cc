#include "worker/process/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "worker/process/process_stat.h"

namespace tandem {
namespace {

// Killed processes take a moment to go. One that the kernel holds back longer (or that its new
// parent does not reap) can run no code any more, so the slot need not wait for it.
constexpr absl::Duration kGroupPatience = absl::Milliseconds(250);
constexpr absl::Duration kGroupPoll = absl::Milliseconds(1);

// By number, because the header of glibc 2.36 lacks its extern "C".
int OpenPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

// Of a process that has ended.
ExitStatus Reap(int pidfd) {
  siginfo_t info{};
  waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG);
  if (info.si_code == CLD_EXITED) return {.code = info.si_status};
  return {.signal = info.si_status};
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(EventLoop* loop,
                                                                  const Command& command,
                                                                  GoneCallback on_gone) {
  const absl::StatusOr<pid_t> pid = Spawn(command);
  if (!pid.ok()) return pid.status();
  FileDescriptor pidfd(OpenPidfd(*pid));
  if (!pidfd.valid()) {
    const absl::Status failed = absl::ErrnoToStatus(errno, "pidfd_open (needs Linux 5.4)");
    kill(-*pid, SIGKILL);
    waitpid(*pid, nullptr, 0);
    return failed;
  }
  return std::unique_ptr<ChildProcess>(
      new ChildProcess(loop, *pid, std::move(pidfd), std::move(on_gone)));
}

ChildProcess::ChildProcess(EventLoop* loop, pid_t pid, FileDescriptor pidfd, GoneCallback on_gone)
    : loop_(*loop), pid_(pid), pidfd_(std::move(pidfd)), on_gone_(std::move(on_gone)) {
  exit_watch_ = loop_.Watch(pidfd_.get(), EPOLLIN, [this](uint32_t) { OnLeaderEnded(); });
}

ChildProcess::~ChildProcess() {
  // Not waited for, and so not reaped: the agent is on its way out, or could not speak to a
  // trainer.
  if (!reaped_) kill(-pid_, SIGKILL);
}

bool ChildProcess::HasEnded() const {
  if (reaped_) return true;
  const auto stat = ReadProcessStat(pid_);
  return !stat || stat->is_exiting;
}

void ChildProcess::Terminate(absl::Duration grace) {
  if (terminating_ || reaped_) return;
  terminating_ = true;
  kill(-pid_, SIGTERM);
  timer_ = loop_.After(grace, [this] { kill(-pid_, SIGKILL); });
}

void ChildProcess::OnLeaderEnded() {
  exit_watch_.Reset();
  // Before the leader is reaped: until then its id, and so that of the group, cannot belong to
  // another.
  kill(-pid_, SIGKILL);
  status_ = Reap(pidfd_.get());
  reaped_ = true;
  CheckGroup(absl::ZeroDuration());
}

void ChildProcess::CheckGroup(absl::Duration waited) {
  const bool empty = kill(-pid_, 0) != 0 && errno == ESRCH;
  if (!empty && waited < kGroupPatience) {
    timer_ = loop_.After(kGroupPoll, [this, waited] { CheckGroup(waited + kGroupPoll); });
    return;
  }
  timer_.Reset();
  const GoneCallback on_gone = on_gone_;
  on_gone(status_);
}

}  // namespace tandem
