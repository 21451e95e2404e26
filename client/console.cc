#include "client/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/json.h"

namespace tandem::client {
namespace {

int TerminalColumns() {
  constexpr int kUsual = 80;
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

// 0, or the errno that stopped it.
int WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

Console::Settings Console::Detect() {
  const char* no_color = std::getenv("NO_COLOR");
  Settings settings;
  settings.color = no_color == nullptr || *no_color == '\0';
  settings.output_is_terminal = isatty(STDOUT_FILENO) == 1;
  settings.remarks_are_terminal = isatty(STDERR_FILENO) == 1;
  settings.columns = TerminalColumns();
  return settings;
}

void Console::Answer(absl::string_view text) {
  if (failure_ == 0) failure_ = WriteAll(STDOUT_FILENO, text);
}

void Console::AnswerJson(const google::protobuf::Message& message) { Answer(ToJson(message)); }

void Console::Remark(absl::string_view line) const { RemarkRaw(absl::StrCat(line, "\n")); }

void Console::RemarkAfterInterrupt(absl::string_view line) const {
  Remark(absl::StrCat(settings_.remarks_are_terminal ? "\n" : "", line));
}

void Console::RemarkRaw(absl::string_view text) const {
  // Where remarks cannot be written there is nobody to tell.
  (void)WriteAll(STDERR_FILENO, text);
}

absl::Status Console::status() const {
  if (failure_ == 0 || failure_ == EPIPE) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("standard output cannot be written: ", std::strerror(failure_)));
}

}  // namespace tandem::client
