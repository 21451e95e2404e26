#include "common/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"
#include "common/parent_death.h"

namespace tandem {
namespace {

// Everything the child needs, made before the fork: between fork and exec nothing may be allocated.
struct Image {
  const char* path;
  const char* working_dir;
  pid_t group;
  std::vector<char*> arguments, environment;
  // All above the numbers that they are copied to, so that no copy overwrites one still to come.
  std::vector<FileDescriptor> sources;
  FileDescriptor error_read, error_write;
  pid_t parent;
};

bool IsReplaced(std::string_view variable, const std::vector<std::string>& by) {
  const std::string_view name_and_sign = variable.substr(0, variable.find('=') + 1);
  for (const std::string& replacement : by) {
    if (replacement.starts_with(name_and_sign)) return true;
  }
  return false;
}

// execve wants pointers to non-const characters, and promises not to write to them.
char* Mutable(const std::string& text) { return const_cast<char*>(text.c_str()); }

std::vector<char*> Arguments(const Command& command) {
  std::vector<char*> arguments = {Mutable(command.path)};
  for (const std::string& argument : command.arguments) arguments.push_back(Mutable(argument));
  arguments.push_back(nullptr);
  return arguments;
}

std::vector<char*> Environment(const Command& command) {
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!IsReplaced(*variable, command.environment)) environment.push_back(*variable);
  }
  for (const std::string& variable : command.environment) environment.push_back(Mutable(variable));
  environment.push_back(nullptr);
  return environment;
}

// Copies with numbers of at least `lowest`.
absl::StatusOr<std::vector<FileDescriptor>> CopyAbove(const std::vector<int>& descriptors,
                                                      int lowest) {
  std::vector<FileDescriptor> copies;
  for (int fd : descriptors) {
    copies.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, lowest));
    if (!copies.back().valid()) return absl::ErrnoToStatus(errno, "fcntl(F_DUPFD_CLOEXEC)");
  }
  return copies;
}

absl::StatusOr<Image> MakeImage(const Command& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  FileDescriptor error_read(ends[0]), error_write(ends[1]);
  std::vector<int> wanted = command.descriptors;
  wanted.push_back(error_write.get());
  auto sources = CopyAbove(wanted, static_cast<int>(wanted.size()));
  if (!sources.ok()) return sources.status();
  error_write = std::move(sources->back());
  sources->pop_back();
  return Image{.path = command.path.c_str(),
               .working_dir = command.working_dir.c_str(),
               .group = command.group,
               .arguments = Arguments(command),
               .environment = Environment(command),
               .sources = *std::move(sources),
               .error_read = std::move(error_read),
               .error_write = std::move(error_write),
               .parent = getpid()};
}

// What was ignored stays ignored over an exec, and so does what was blocked.
void ResetSignals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void ReportError(const Image& image) {
  const int error = errno;
  if (write(image.error_write.get(), &error, sizeof(error)) < 0) _exit(126);
  _exit(127);
}

// Only async-signal-safe calls: another thread may have held any lock when we forked.
[[noreturn]] void BecomeProgram(const Image& image) {
  // Outside of it, it would miss the signals that are meant for it.
  if (setpgid(0, image.group) != 0) ReportError(image);
  DieWithParent(SIGKILL, image.parent);
  ResetSignals();
  const int count = static_cast<int>(image.sources.size());
  for (int i = 0; i < count; ++i) dup2(image.sources[i].get(), i);
  // Ours are close-on-exec anyway; this is for what a library may have opened without.
  close_range(count, ~0U, CLOSE_RANGE_CLOEXEC);
  if (*image.working_dir == '\0' || chdir(image.working_dir) == 0) {
    execve(image.path, image.arguments.data(), image.environment.data());
  }
  ReportError(image);
}

// The errno of a failed exec; 0 once the program is executing, because the exec closed the pipe.
int WaitForExec(Image& image) {
  image.error_write.Reset();
  int error = 0;
  while (read(image.error_read.get(), &error, sizeof(error)) < 0 && errno == EINTR) {
  }
  return error;
}

absl::StatusOr<pid_t> ForkAndExec(const Command& command, FileDescriptor held_until_exec) {
  auto image = MakeImage(command);
  if (!image.ok()) return image.status();
  const pid_t pid = fork();
  if (pid < 0) return absl::ErrnoToStatus(errno, "fork");
  if (pid == 0) BecomeProgram(*image);
  // The program's own copy is closed by the exec.
  held_until_exec.Reset();
  const int error = WaitForExec(*image);
  if (error == 0) return pid;
  waitpid(pid, nullptr, 0);
  return absl::ErrnoToStatus(error, "exec");
}

}  // namespace

absl::StatusOr<pid_t> Spawn(const Command& command, FileDescriptor held_until_exec) {
  absl::StatusOr<pid_t> pid = ForkAndExec(command, std::move(held_until_exec));
  if (pid.ok()) return pid;
  const std::string in_folder =
      command.working_dir.empty() ? "" : absl::StrCat(" in ", command.working_dir);
  return absl::Status(pid.status().code(), absl::StrCat("cannot start ", command.path, in_folder,
                                                        ": ", pid.status().message()));
}

}  // namespace tandem
