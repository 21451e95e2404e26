#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace tandem::testing {

// A child process in a group of its own, with stdout and stderr in files. Destroyed: its group is
// killed.
class Process {
 public:
  struct Options {
    std::vector<std::string> argv;
    // Added to the environment.
    std::map<std::string, std::string> environment;
    // Files for the two streams are made in this folder.
    std::string folder;
  };

  explicit Process(const Options& options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // The exit code, or 128 plus the signal; nothing when it is still running after the time-out.
  std::optional<int> Wait(absl::Duration timeout);
  std::string Stdout() const;
  std::string Stderr() const;

 private:
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
  std::string out_path_, err_path_;
};

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& text);

// True as soon as `condition` holds, false when it does not within the time-out.
bool Eventually(absl::Duration timeout, const std::function<bool()>& condition);

// Running processes whose command line or environment contains `text`.
std::vector<pid_t> ProcessesWith(const std::string& text);

}  // namespace tandem::testing
