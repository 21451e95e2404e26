#include "worker/command/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"

namespace tandem::command {

absl::StatusOr<std::unique_ptr<Signals>> Signals::Create(EventLoop* loop, Callback on_signal) {
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, nullptr, &blocked);
  FileDescriptor signals(signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return absl::ErrnoToStatus(errno, "signalfd");
  return std::unique_ptr<Signals>(new Signals(loop, std::move(signals), std::move(on_signal)));
}

Signals::Signals(EventLoop* loop, FileDescriptor signals, Callback on_signal)
    : signals_(std::move(signals)), on_signal_(std::move(on_signal)) {
  watch_ = loop->Watch(signals_.get(), EPOLLIN, [this](uint32_t) { OnReady(); });
}

void Signals::OnReady() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    on_signal_(static_cast<int>(info.ssi_signo));
  }
}

}  // namespace tandem::command
