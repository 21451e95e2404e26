#pragma once

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tandem::client {

// Picks out of a rank's log what the trainer, or who starts a command, says about its surroundings
// when it starts: a line that begins with its name, and the indented ones after it. The last such block counts, that of
// the last attempt.
class EnvironmentBlock {
 public:
  void Add(absl::string_view line) {
    const bool begins =
        absl::StartsWith(line, "tandem-trainer ") || absl::StartsWith(line, "tandem-command ");
    inside_ = begins || (inside_ && absl::StartsWith(line, "  "));
    if (begins) text_.clear();
    if (inside_) absl::StrAppend(&text_, line, "\n");
  }

  const std::string& text() const { return text_; }

 private:
  bool inside_ = false;
  std::string text_;
};

}  // namespace tandem::client
