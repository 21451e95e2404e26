#include "client/child_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file_descriptor.h"
#include "common/parent_death.h"

namespace tandem::client {
namespace {

std::vector<char*> ArgumentsOf(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

// Between fork and exec: nothing here may allocate or lock.
[[noreturn]] void BecomeProgram(char* const* arguments, int input, int output, int report,
                                pid_t parent) {
  setpgid(0, 0);
  DieWithParent(SIGKILL, parent);
  // Both would otherwise be inherited as this program has set them.
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execv(arguments[0], arguments);
  const int error = errno;
  (void)!write(report, &error, sizeof(error));
  _exit(127);
}

// 0 once the program runs, else why it does not. The other end of the pipe closes on exec.
int ExecError(int report) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(report, &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  return got == sizeof(error) ? error : 0;
}

absl::Status CannotStart(const std::string& program, int error) {
  return absl::NotFoundError(absl::StrCat(program, " cannot be started: ", std::strerror(error)));
}

std::vector<std::string> LastLines(const std::string& path) {
  constexpr size_t kLines = 10;
  std::ifstream file(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (lines.size() > kLines) lines.pop_front();
  }
  return {lines.begin(), lines.end()};
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(Options options) {
  const std::string& program = options.command.front();
  const FileDescriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const FileDescriptor output(
      open(options.output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  int report[2];
  if (!input.valid() || !output.valid() || pipe2(report, O_CLOEXEC) != 0) {
    return CannotStart(program, errno);
  }
  const FileDescriptor report_end(report[0]);
  FileDescriptor child_end(report[1]);
  const std::vector<char*> arguments = ArgumentsOf(options.command);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return CannotStart(program, errno);
  if (pid == 0) BecomeProgram(arguments.data(), input.get(), output.get(), report[1], parent);
  child_end.Reset();
  const int error = ExecError(report_end.get());
  if (error == 0) {
    return std::unique_ptr<ChildProcess>(new ChildProcess(pid, std::move(options)));
  }
  waitpid(pid, nullptr, 0);
  return CannotStart(program, error);
}

ChildProcess::ChildProcess(pid_t pid, Options options) : pid_(pid), options_(std::move(options)) {
  waiter_ = std::thread([this] { AwaitEnd(); });
}

ChildProcess::~ChildProcess() {
  Stop(absl::ZeroDuration());
  waiter_.join();
  // Only now may the kernel give the number to another process.
  waitpid(pid_, nullptr, 0);
}

void ChildProcess::AwaitEnd() {
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  {
    const absl::MutexLock lock(&mutex_);
    end_ = End{info.si_code, info.si_status};
  }
  if (options_.on_exit) options_.on_exit();
}

void ChildProcess::Stop(absl::Duration grace) {
  const auto ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return end_.has_value(); };
  const absl::MutexLock lock(&mutex_);
  if (!end_) kill(pid_, SIGTERM);
  if (!mutex_.AwaitWithTimeout(absl::Condition(&ended), grace)) kill(-pid_, SIGKILL);
  mutex_.Await(absl::Condition(&ended));
}

bool ChildProcess::has_ended() const {
  const absl::MutexLock lock(&mutex_);
  return end_.has_value();
}

std::string ChildProcess::Obituary() const {
  const absl::MutexLock lock(&mutex_);
  const std::string name = std::filesystem::path(options_.command.front()).filename().string();
  const std::string how = end_->kind == CLD_EXITED ? "exited with code " : "was ended by signal ";
  const auto lines = LastLines(options_.output_file);
  return absl::StrCat(name, " ", how, end_->status, lines.empty() ? "" : "; its last lines:\n    ",
                      absl::StrJoin(lines, "\n    "));
}

}  // namespace tandem::client
