#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tandem {

// Cuts a stream of bytes into lines of UTF-8, without their newline (or carriage return and
// newline).
class LineSplitter {
 public:
  static constexpr size_t kMaxLineBytes = size_t{16} << 10;

  // A longer line becomes several.
  explicit LineSplitter(size_t max_line_bytes = kMaxLineBytes) : max_line_bytes_(max_line_bytes) {}

  // The lines that these bytes complete. The unfinished rest waits for more.
  std::vector<std::string> Add(absl::string_view bytes);
  // The stream has ended: its last line, if that had no newline.
  std::vector<std::string> Finish();

 private:
  const size_t max_line_bytes_;
  std::string unfinished_;
};

}  // namespace tandem
