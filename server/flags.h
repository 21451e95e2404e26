#pragma once

#include <optional>

#include "server/options.h"

namespace tandem {

struct ParsedFlags {
  DaemonOptions options;
  // Set where there is nothing to run: --help and --version (0), or a mistake (2), already printed.
  std::optional<int> exit_code;
};

ParsedFlags ParseFlags(int argc, const char* const* argv);

}  // namespace tandem
