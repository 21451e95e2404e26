#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/file_descriptor.h"
#include "common/spawn.h"

namespace tandem {

// A program that is asked one thing: what it prints is its answer. It may hang or crash without harm to
// who asks. In a process group of its own, which is killed when this object goes, and when the thread
// that started it ends. For one thread.
//
// Errors name the program:
//   DeadlineExceeded   it had not done so by the deadline: with the last that it wrote to standard error.
//   Unavailable        it ended in another way than with exit code 0, or before its line: how, and the last
//                      that it wrote to standard error.
//   ResourceExhausted  it printed more than anybody would want to know.
class HelperProcess {
 public:
  // With descriptors of its own: those of `command` do not count.
  //   Any code of errno  it cannot be started.
  static absl::StatusOr<std::unique_ptr<HelperProcess>> Start(Command command);
  ~HelperProcess();

  // The next line on its standard output, without the end of it.
  absl::StatusOr<std::string> ReadLine(absl::Time deadline);
  // Waits for its end, and returns what else it printed.
  absl::StatusOr<std::string> ReadRest(absl::Time deadline);

 private:
  HelperProcess(std::string path, pid_t pid, FileDescriptor output, FileDescriptor errors);

  // Reads what there is, waiting for something to happen.
  absl::Status Wait(absl::Time deadline);
  absl::Status EndedBadly() const;
  std::string LastWords() const;  // ": " and the last that it wrote to standard error, if it did
  std::string name() const;

  const std::string path_;
  const pid_t pid_;
  const FileDescriptor output_, errors_, pidfd_;
  std::string printed_, complained_;
  bool ended_ = false;
  int status_ = 0;  // as of waitpid, once it has ended
};

// The whole of it: what the program prints until it ends with exit code 0.
absl::StatusOr<std::string> AskProgram(const std::string& path, std::vector<std::string> arguments,
                                       absl::Duration patience);

}  // namespace tandem
