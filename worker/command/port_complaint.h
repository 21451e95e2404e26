#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tandem::command {

// Whether a program says here that it could not have a port, in the words of errno(3).
bool SaysPortTaken(absl::string_view text);

// Looks for that in the lines of a program's stderr. One that ends of it says so at its end; one that said so
// before has got over it.
class PortComplaint {
 public:
  // Longer than a traceback and the call stack of LibTorch that may follow.
  static constexpr uint64_t kLastLines = 64;

  void Add(absl::string_view line);
  bool IsAmongLastLines() const { return age_ < kLastLines; }

 private:
  // Lines since.
  uint64_t age_ = kLastLines;
};

}  // namespace tandem::command
