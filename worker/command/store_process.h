#pragma once

#include <sys/types.h>

#include "absl/status/statusor.h"

namespace tandem::command {

// Starts tandem-store, which is beside this binary, to host the c10d store on a listening socket. Does not wait
// until it can answer: who connects before that waits in the socket's queue. It prints to stderr, is in a process
// group of its own, and dies with this process. Whoever calls this reaps it.
//   Any code of errno  it could not be started.
absl::StatusOr<pid_t> StartStore(int listening_socket);

}  // namespace tandem::command
