#include "client/log_text.h"

#include "absl/strings/str_cat.h"

namespace tandem::client {

std::string FormatLogLine(const v1::LogLine& line, bool with_rank) {
  if (!with_rank) return absl::StrCat(line.text(), "\n");
  const std::string attempt = line.attempt() > 1 ? absl::StrCat(line.attempt(), ":") : "";
  return absl::StrCat("[", attempt, line.rank(), "] ", line.text(), "\n");
}

}  // namespace tandem::client
