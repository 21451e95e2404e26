#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tandem {

struct Command {
  std::string path;
  // Without the program's own name.
  std::vector<std::string> arguments;
  // "NAME=value"; replaces what is inherited under the same names.
  std::vector<std::string> environment;
  // Descriptor i of the program is a copy of descriptors[i]; it inherits no others.
  std::vector<int> descriptors;
};

// Starts a program in a process group of its own, with default signal handling, which the kernel
// kills (SIGKILL) when the calling thread ends. Blocks until the program is executing. The caller
// reaps it.
//   Any code of errno  it could not be started: "cannot start PATH: ...".
absl::StatusOr<pid_t> Spawn(const Command& command);

}  // namespace tandem
