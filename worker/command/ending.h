#pragma once

#include "worker/process/child_process.h"

namespace tandem::command {

// How a child ended, from what waitpid(2) says of it.
ExitStatus ExitStatusOf(int wait_status);

// Ends this process as another one has: with the same code, or by the same signal.
[[noreturn]] void EndLike(ExitStatus status);

}  // namespace tandem::command
