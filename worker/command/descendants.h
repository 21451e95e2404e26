#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tandem::command {

// Parents of processes, by their children.
using ProcessTree = std::map<pid_t, pid_t>;

// Children of `root`, their children, and so on, without `spared` and what comes from it. The tree need not be
// whole: of what was started or ended while it was read, and of the processes of other users, which the
// system may hide, nothing is known. Children of `root` itself are never missed, since only `root` can reap
// them: with none of them, there is no descendant at all.
std::vector<pid_t> DescendantsOf(pid_t root, pid_t spared, const ProcessTree& tree);

// Processes that were killed so long ago and are still there will not end, whatever is done.
inline constexpr absl::Duration kSweepPatience = absl::Seconds(30);

// Kills all descendants of this process but `spared` (0: none), and returns them. Those that are killed leave
// more behind for this process to adopt, where it is a child subreaper, so it is called until there are none.
//   Unavailable  `proc`, the folder of all processes, cannot be read: nothing is known.
absl::StatusOr<std::vector<pid_t>> KillDescendants(pid_t spared, const std::string& proc = "/proc");

// For people, where KillDescendants failed or was called for kSweepPatience in vain.
std::string DescribeLeftBehind(const absl::StatusOr<std::vector<pid_t>>& left);

}  // namespace tandem::command
