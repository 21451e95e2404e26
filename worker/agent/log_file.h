#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file_descriptor.h"
#include "common/tail.h"

namespace tandem::agent {

// A file of lines that does not grow much beyond a size: the line that would cross it is replaced by a
// notice, and of what comes after that only the end is written, when it is finished.
class LogFile {
 public:
  // Of the end, at most.
  static constexpr size_t kTailBytes = size_t{1} << 20;

  // Makes the missing folders of `path`, and an empty file.
  //   Any code of errno  the message names the path.
  static absl::StatusOr<LogFile> Create(std::string path, uint64_t cap_bytes);

  // Adds a newline to each line.
  //   Any code of errno  the disk is full or gone; part of the lines may have been written.
  absl::Status Append(const std::vector<std::string>& lines);
  // No more will come. Errors as for Append.
  absl::Status Finish();

 private:
  LogFile(std::string path, FileDescriptor file, uint64_t cap_bytes)
      : path_(std::move(path)), file_(std::move(file)), cap_bytes_(cap_bytes) {}

  absl::Status Write(const std::string& bytes);

  std::string path_;
  FileDescriptor file_;
  uint64_t cap_bytes_;
  uint64_t bytes_ = 0;
  bool full_ = false;
  Tail<std::string> tail_{kTailBytes};
};

}  // namespace tandem::agent
