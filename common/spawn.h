#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file_descriptor.h"

namespace tandem {

struct Command {
  std::string path;
  // Without the program's own name.
  std::vector<std::string> arguments = {};
  // "NAME=value"; replaces what is inherited under the same names.
  std::vector<std::string> environment = {};
  // Descriptor i of the program is a copy of descriptors[i]; it inherits no others.
  std::vector<int> descriptors = {};
  // Where it starts; empty: where the caller is.
  std::string working_dir = {};
  // The process group that it joins; 0: one of its own.
  pid_t group = 0;
};

// Starts a program with default signal handling, which the kernel kills (SIGKILL) when the calling
// thread ends. Blocks until the program is executing. The caller
// reaps it. `held_until_exec`, if any, is open until the very moment at which the program begins, and then closed
// on both sides.
//   Any code of errno  it could not be started: "cannot start PATH: ...".
absl::StatusOr<pid_t> Spawn(const Command& command, FileDescriptor held_until_exec = {});

}  // namespace tandem
