#pragma once

#include <csignal>

namespace tandem {

// On this signal a trainer prints the stack of each of its threads to stderr, then the line below, and goes
// on: its agent sends it before it stops a trainer that hangs.
inline constexpr int kPrintStacksSignal = SIGUSR2;
inline constexpr char kEndOfStacks[] = "-- end of stacks --";

}  // namespace tandem
