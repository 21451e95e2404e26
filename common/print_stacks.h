#pragma once

#include <sys/types.h>

#include <csignal>

namespace tandem {

// On this signal a trainer prints the stack of each of its threads to stderr, then the line below, and goes
// on: its agent sends it before it stops a trainer that hangs.
inline constexpr int kPrintStacksSignal = SIGUSR2;
inline constexpr char kEndOfStacks[] = "-- end of stacks --";

// Sends it. A process that is stopped is made to go on; the first stack is that of its first thread, at the
// place where it was stopped.
void AskForStacks(pid_t process, bool is_stopped);

}  // namespace tandem
