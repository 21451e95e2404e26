#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

namespace tandem::command {

// Parents of processes, by their children.
using ProcessTree = std::map<pid_t, pid_t>;

// Children of `root`, their children, and so on, without `spared` and what comes from it. A process whose
// line of parents is broken, because one of them ended while the tree was read, may be one: it counts as
// uncertain.
struct Descendants {
  std::vector<pid_t> processes;
  bool is_certain = true;
};
Descendants DescendantsOf(pid_t root, pid_t spared, const ProcessTree& tree);

// Kills all descendants of this process but `spared` (0: none). False: there were none. Those that are killed
// leave more behind for this process to adopt, where it is a child subreaper, so it is called until then.
bool KillDescendants(pid_t spared);

}  // namespace tandem::command
