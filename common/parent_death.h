#pragma once

#include <sys/types.h>

namespace tandem {

// Asks the kernel to send `signal` to this process when `parent` dies; raises it at once when it
// has died already. Pass the pid that the parent had before it started this process, or else
// getppid() as early as possible.
//
// What the kernel really waits for is the end of the *thread* that started this process: a parent
// must fork from a thread that lives as long as itself. Async-signal-safe, so it may stand between
// fork and exec.
void DieWithParent(int signal, pid_t parent);

}  // namespace tandem
