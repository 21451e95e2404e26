#pragma once

#include <cstddef>
#include <deque>
#include <string>

namespace tandem::agent {

// The end of what a trainer printed, small enough to be kept with its job: the newest lines, at
// most 40 of them and 8 KiB together. Of a line longer than 1 KiB, its beginning.
class LastLines {
 public:
  static constexpr size_t kMaxLines = 40;
  static constexpr size_t kMaxLineBytes = size_t{1} << 10;
  static constexpr size_t kMaxBytes = size_t{8} << 10;

  // UTF-8.
  void Add(const std::string& line);

  const std::deque<std::string>& lines() const { return lines_; }

 private:
  std::deque<std::string> lines_;
  size_t bytes_ = 0;
};

}  // namespace tandem::agent
