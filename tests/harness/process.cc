#include "tests/harness/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace tandem::testing {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(5);

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void Exec(char* const* argv, char* const* environment, int out, int err) {
  setpgid(0, 0);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execvpe(argv[0], argv, environment);
  _exit(127);
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(absl::StrCat(name, "=", value));
  return all;
}

}  // namespace

Process::Process(const Options& options) {
  static std::atomic<int> counter = 0;
  const std::string base = absl::StrCat(options.folder, "/process-", ++counter);
  out_path_ = base + ".out";
  err_path_ = base + ".err";
  const int out = open(out_path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_APPEND, 0600);
  const int err = open(err_path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_APPEND, 0600);
  std::vector<std::string> argv = options.argv;
  std::vector<std::string> environment = Environment(options.environment);
  const std::vector<char*> argv_pointers = Pointers(argv);
  const std::vector<char*> environment_pointers = Pointers(environment);
  pid_ = fork();
  if (pid_ == 0) Exec(argv_pointers.data(), environment_pointers.data(), out, err);
  setpgid(pid_, pid_);
  close(out);
  close(err);
}

Process::~Process() {
  if (exit_code_.has_value()) return;
  kill(-pid_, SIGKILL);
  Wait(absl::Seconds(10));
}

void Process::Signal(int signal) const {
  if (!exit_code_.has_value()) kill(pid_, signal);
}

std::optional<int> Process::Wait(absl::Duration timeout) {
  Eventually(timeout, [this] {
    int status = 0;
    if (!exit_code_.has_value() && waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    return exit_code_.has_value();
  });
  return exit_code_;
}

std::string Process::Stdout() const { return ReadFile(out_path_); }
std::string Process::Stderr() const { return ReadFile(err_path_); }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

bool Eventually(absl::Duration timeout, const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(kPollInterval);
  }
  return true;
}

std::vector<pid_t> ProcessesWith(const std::string& text) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    const std::string all = ReadFile(entry.path() / "cmdline") + ReadFile(entry.path() / "environ");
    if (all.find(text) != std::string::npos) found.push_back(pid);
  }
  return found;
}

}  // namespace tandem::testing
