#pragma once

#include <string>

namespace tandem::stand_in {

// What went wrong, for ncclGetLastError; also printed as NCCL prints it, where NCCL_DEBUG is set.
void Warn(const std::string& text);

// What it prints to standard output when its first communicator is made, where NCCL_DEBUG is set.
void PrintVersion();

// Of this process; empty: there was none. Lives for good.
const char* LastWarning();

// For what a program must never do to NCCL: says so and ends the process.
[[noreturn]] void Die(const char* misuse);

}  // namespace tandem::stand_in
