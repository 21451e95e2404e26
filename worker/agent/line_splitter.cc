#include "worker/agent/line_splitter.h"

#include <utility>

#include "worker/agent/utf8.h"

namespace tandem::agent {

std::vector<std::string> LineSplitter::Add(std::string_view bytes) {
  unfinished_.append(bytes);
  std::vector<std::string> lines;
  std::string_view rest = unfinished_;
  while (true) {
    const size_t newline = rest.substr(0, kMaxLineBytes + 1).find('\n');
    const bool has_newline = newline != std::string_view::npos;
    if (!has_newline && rest.size() <= kMaxLineBytes) break;
    const size_t length = has_newline ? newline : Utf8PrefixLength(rest, kMaxLineBytes);
    std::string_view line = rest.substr(0, length);
    if (has_newline && line.ends_with('\r')) line.remove_suffix(1);
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

}  // namespace tandem::agent
