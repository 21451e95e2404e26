#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tandem/v1/host.pb.h"

namespace tandem::host {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  // As the kernel knows it, at most 15 characters.
  std::string name;
};

// Those of one user, and the parents of these, by rising pid; and no more of them than /proc shows.
std::vector<Process> ProcessesOf(uid_t user);

// Those that only an agent starts (tandem-trainer, tandem-command) and that no agent waits for any more:
// the kernel gave them to the first process, or to the user's systemd.
std::vector<v1::StaleProcess> StaleTrainers(const std::vector<Process>& processes);

}  // namespace tandem::host
