#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace tandem::client {

// A program that runs beside this one, in a process group of its own, and is killed when this
// process dies in whatever way. To be started from the main thread: the kernel ties the parent's
// death to that thread's.
class ChildProcess {
 public:
  struct Options {
    // Program and arguments.
    std::vector<std::string> command;
    // Takes standard output and error.
    std::string output_file;
    // Called once, from another thread, when it has ended.
    std::function<void()> on_exit;
  };

  //   NotFound  the program cannot be started, or the file not be written.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(Options options);

  // Kills what is still there, and waits for it.
  ~ChildProcess();

  bool has_ended() const;
  // Asks it to end, and after `grace` makes it. Returns when it has ended.
  void Stop(absl::Duration grace);
  // The program's name, how it ended and the last lines it wrote. Only after it has ended.
  std::string Obituary() const;

 private:
  // As waitid says.
  struct End {
    int kind = 0;
    int status = 0;
  };

  ChildProcess(pid_t pid, Options options);
  void AwaitEnd();

  const pid_t pid_;
  const Options options_;
  mutable absl::Mutex mutex_;
  std::optional<End> end_ ABSL_GUARDED_BY(mutex_);  // set once
  std::thread waiter_;
};

}  // namespace tandem::client
