#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
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

  bool has_ended() const { return ended_.HasBeenNotified(); }
  // Asks it to end, and after `grace` makes it. Returns when it has ended.
  void Stop(absl::Duration grace);
  // The program's name, how it ended and the last lines it wrote. Only after it has ended.
  std::string Obituary() const;

 private:
  ChildProcess(pid_t pid, Options options);
  void AwaitEnd();

  const pid_t pid_;
  const Options options_;
  // How it ended, as waitid says. Written before ended_ is notified.
  int exit_kind_ = 0;
  int exit_status_ = 0;
  absl::Notification ended_;
  std::thread waiter_;
};

}  // namespace tandem::client
