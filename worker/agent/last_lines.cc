#include "worker/agent/last_lines.h"

#include "common/utf8.h"

namespace tandem::agent {

void LastLines::Add(const std::string& line) {
  lines_.push_back(line.substr(0, Utf8PrefixLength(line, kMaxLineBytes)));
  bytes_ += lines_.back().size();
  while (lines_.size() > kMaxLines || bytes_ > kMaxBytes) {
    bytes_ -= lines_.front().size();
    lines_.pop_front();
  }
}

}  // namespace tandem::agent
