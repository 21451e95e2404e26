#include "common/answer_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>

#include "absl/strings/str_cat.h"

namespace tandem {

absl::StatusOr<AnswerOutput> AnswerOutput::Take() {
  // What was printed before goes where it was meant to go.
  std::cout << std::flush;
  std::fflush(stdout);
  FileDescriptor output(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!output.valid() || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return absl::ErrnoToStatus(errno, "cannot keep standard output for answers");
  }
  return AnswerOutput(std::move(output));
}

absl::Status AnswerOutput::Say(absl::string_view text) const {
  const std::string line = absl::StrCat(text, "\n");
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t n = write(output_.get(), line.data() + sent, line.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "cannot write to standard output");
    sent += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

}  // namespace tandem
