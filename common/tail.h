#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace tandem {

// The newest of a number of lines that there is no room for, so that the end is known of what had to be cut.
template <typename Line>
class Tail {
 public:
  explicit Tail(size_t max_bytes) : max_bytes_(max_bytes) {}

  // `bytes`: what the line counts for. Returns how many older ones, or this one, were given up for it.
  uint64_t Add(Line line, size_t bytes) {
    lines_.emplace_back(std::move(line), bytes);
    bytes_ += bytes;
    uint64_t given_up = 0;
    for (; bytes_ > max_bytes_; ++given_up) {
      bytes_ -= lines_.front().second;
      lines_.pop_front();
    }
    given_up_ += given_up;
    return given_up;
  }

  // Nothing was added since it was taken.
  bool empty() const { return lines_.empty() && given_up_ == 0; }
  size_t bytes() const { return bytes_; }

  struct Contents {
    // Before the first of the lines.
    uint64_t given_up = 0;
    std::deque<Line> lines;
  };
  Contents Take() {
    Contents contents{std::exchange(given_up_, 0), {}};
    for (auto& [line, bytes] : std::exchange(lines_, {})) contents.lines.push_back(std::move(line));
    bytes_ = 0;
    return contents;
  }

 private:
  size_t max_bytes_;
  std::deque<std::pair<Line, size_t>> lines_;
  size_t bytes_ = 0;
  uint64_t given_up_ = 0;
};

}  // namespace tandem
