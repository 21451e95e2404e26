#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_descriptor.h"

namespace tandem {

// The standard output of a program whose output is read by another one, for that alone. Libraries print
// there too: NCCL its version, and with NCCL_DEBUG=INFO whatever it does.
class AnswerOutput {
 public:
  // From now on, whatever else this process prints to standard output goes to standard error. Before any
  // library is opened, and once.
  //   Any code of errno  there is no standard output or error.
  static absl::StatusOr<AnswerOutput> Take();

  // Blocks until whoever reads has room for it. `text` without the end of the line.
  //   Any code of errno  nobody reads it.
  absl::Status Say(absl::string_view text) const;

 private:
  explicit AnswerOutput(FileDescriptor output) : output_(std::move(output)) {}

  FileDescriptor output_;
};

}  // namespace tandem
