#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "tandem/v1/job.pb.h"

namespace tandem {

// What the kernel says about a process: the line of /proc/PID/stat (proc(5)).
struct ProcessStat {
  // Of its first thread.
  v1::ProcessState state = v1::PROCESS_STATE_UNSPECIFIED;
  pid_t parent = 0;
  // It has ended or is on its way out: before it lets go of its sockets, so before any peer can
  // complain, and long before it can be waited for.
  bool is_exiting = false;
  // Of all its threads.
  absl::Duration cpu_time;
};

// Unset where the text is no such line.
std::optional<ProcessStat> ParseProcessStat(const std::string& text);

// Unset where there is no such process.
std::optional<ProcessStat> ReadProcessStat(pid_t pid);

}  // namespace tandem
