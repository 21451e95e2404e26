#pragma once

#include <sys/types.h>

namespace tandem::command {

// Splits this process in two, so that whichever of them is killed, the other kills all that the program has
// left, also where that moved to sessions of its own.
//
// The parent becomes the keeper and does not return: it stays at the head of its process group, passes
// SIGTERM, SIGINT and SIGUSR2 on, and when the child has ended, kills what is left and ends in the same way.
// Returns in the child, with the keeper's pid: in a process group of its own, with those signals, SIGCHLD and
// SIGHUP blocked. SIGHUP comes when the keeper has died. To be called before there is a thread.
pid_t SplitFromKeeper();

}  // namespace tandem::command
