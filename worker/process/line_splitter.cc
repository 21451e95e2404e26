#include "worker/process/line_splitter.h"

#include <utility>

#include "absl/strings/strip.h"
#include "common/utf8.h"

namespace tandem {

std::vector<std::string> LineSplitter::Add(absl::string_view bytes) {
  unfinished_.append(bytes.data(), bytes.size());
  std::vector<std::string> lines;
  absl::string_view rest = unfinished_;
  while (true) {
    const size_t newline = rest.substr(0, max_line_bytes_ + 1).find('\n');
    const bool has_newline = newline != absl::string_view::npos;
    if (!has_newline && rest.size() <= max_line_bytes_) break;
    const size_t length = has_newline ? newline : Utf8PrefixLength(rest, max_line_bytes_);
    absl::string_view line = rest.substr(0, length);
    if (has_newline) absl::ConsumeSuffix(&line, "\r");
    lines.push_back(ReplaceInvalidUtf8(line));
    rest.remove_prefix(length + (has_newline ? 1 : 0));
  }
  unfinished_.erase(0, unfinished_.size() - rest.size());
  return lines;
}

std::vector<std::string> LineSplitter::Finish() {
  if (unfinished_.empty()) return {};
  return {ReplaceInvalidUtf8(std::exchange(unfinished_, {}))};
}

}  // namespace tandem
