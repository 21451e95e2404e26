#include "common/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace tandem {
namespace {

constexpr size_t kMostBytes = size_t{4} << 20;

// What there is now, without waiting for more.
void ReadAvailable(int fd, std::string* text) {
  char bytes[4096];
  while (text->size() <= kMostBytes) {
    const ssize_t got = read(fd, bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    text->append(bytes, static_cast<size_t>(got));
  }
}

int MillisecondsUntil(absl::Time deadline) {
  constexpr int kLongest = 60'000;
  const absl::Duration left = deadline - absl::Now();
  if (left <= absl::ZeroDuration()) return 0;
  return static_cast<int>(absl::ToInt64Milliseconds(
      std::min(left + absl::Milliseconds(1), absl::Milliseconds(kLongest))));
}

std::string LastLine(const std::string& text) {
  const std::string lines(absl::StripAsciiWhitespace(text));
  return lines.substr(lines.rfind('\n') + 1);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HelperProcess>> HelperProcess::Start(Command command) {
  int output[2], errors[2];
  if (pipe2(output, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  FileDescriptor output_read(output[0]), output_write(output[1]);
  if (pipe2(errors, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  FileDescriptor errors_read(errors[0]), errors_write(errors[1]);
  const FileDescriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (const int fd : {output[0], errors[0]}) fcntl(fd, F_SETFL, O_NONBLOCK);
  command.descriptors = {nothing.get(), output_write.get(), errors_write.get()};
  const auto pid = Spawn(command);
  if (!pid.ok()) return pid.status();
  return std::unique_ptr<HelperProcess>(new HelperProcess(
      std::move(command.path), *pid, std::move(output_read), std::move(errors_read)));
}

HelperProcess::HelperProcess(std::string path, pid_t pid, FileDescriptor output,
                             FileDescriptor errors)
    : path_(std::move(path)),
      pid_(pid),
      output_(std::move(output)),
      errors_(std::move(errors)),
      pidfd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

HelperProcess::~HelperProcess() {
  // The group's id stays reserved for as long as its leader is not waited for.
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

absl::StatusOr<std::string> HelperProcess::ReadLine(absl::Time deadline) {
  size_t end = 0;
  while ((end = printed_.find('\n')) == std::string::npos) {
    if (ended_) return EndedBadly();
    if (absl::Status status = Wait(deadline); !status.ok()) return status;
  }
  std::string line = printed_.substr(0, end);
  printed_.erase(0, end + 1);
  return line;
}

absl::StatusOr<std::string> HelperProcess::ReadRest(absl::Time deadline) {
  while (!ended_) {
    if (absl::Status status = Wait(deadline); !status.ok()) return status;
  }
  if (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0) return EndedBadly();
  return std::exchange(printed_, "");
}

absl::Status HelperProcess::Wait(absl::Time deadline) {
  if (printed_.size() > kMostBytes || complained_.size() > kMostBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(name(), " does not stop printing"));
  }
  if (absl::Now() >= deadline) {
    return absl::DeadlineExceededError(
        absl::StrCat(name(), " did not answer in time", LastWords()));
  }
  pollfd watched[] = {
      {output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}, {pidfd_.get(), POLLIN, 0}};
  // A pipe that nobody can write to any more would not let it wait for the end.
  for (pollfd& pipe : watched) {
    if (pipe.fd != pidfd_.get() && poll(&pipe, 1, 0) == 1 && pipe.revents == POLLHUP) pipe.fd = -1;
  }
  poll(watched, std::size(watched), MillisecondsUntil(deadline));
  siginfo_t end = {};
  const bool is_over =
      waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      end.si_pid == pid_;
  // After that look, so that nothing printed before the end is missed.
  ReadAvailable(output_.get(), &printed_);
  ReadAvailable(errors_.get(), &complained_);
  if (!is_over) return absl::OkStatus();
  ended_ = true;
  status_ = end.si_code == CLD_EXITED ? W_EXITCODE(end.si_status, 0) : end.si_status;
  return absl::OkStatus();
}

absl::Status HelperProcess::EndedBadly() const {
  const bool exited = WIFEXITED(status_);
  return absl::UnavailableError(
      absl::StrCat(name(), exited ? " ended with exit code " : " was ended by signal ",
                   exited ? WEXITSTATUS(status_) : WTERMSIG(status_), LastWords()));
}

std::string HelperProcess::LastWords() const {
  const std::string last = LastLine(complained_);
  return last.empty() ? "" : absl::StrCat(": ", last);
}

std::string HelperProcess::name() const { return std::filesystem::path(path_).filename(); }

absl::StatusOr<std::string> AskProgram(const std::string& path, std::vector<std::string> arguments,
                                       absl::Duration patience) {
  auto helper = HelperProcess::Start({.path = path, .arguments = std::move(arguments)});
  if (!helper.ok()) return helper.status();
  return (*helper)->ReadRest(absl::Now() + patience);
}

}  // namespace tandem
