#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/file_descriptor.h"

namespace tandem::store {

// The right to be the only coordinator on a state directory, held for as long as the object lives.
// The kernel gives it back when the process ends, however it ends.
class StateLock {
 public:
  // Makes the directory, readable by its owner alone, where it does not exist.
  //   FailedPrecondition  another process holds it; the message names its pid.
  //   Internal            the directory or its lock file cannot be made.
  static absl::StatusOr<StateLock> Acquire(const std::string& state_dir);

 private:
  explicit StateLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace tandem::store
