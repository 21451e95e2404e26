#pragma once

#include <sys/types.h>

#include <string>

#include "absl/strings/string_view.h"

namespace tandem::command {

// Whether a process has a handler for the signal, by the text of its /proc/PID/status.
bool CatchesSignal(absl::string_view status, int signal);
bool CatchesSignal(pid_t process, int signal);

// What the kernel says of each thread of a process, a line each: its name, what it does, and where in the kernel it
// waits. Empty where there is no such process.
std::string DescribeThreads(pid_t process);

}  // namespace tandem::command
