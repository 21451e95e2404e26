#include "worker/command/descendants.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "worker/process/process_stat.h"

namespace tandem::command {
namespace {

ProcessTree ReadProcessTree() {
  ProcessTree tree;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    if (const auto stat = ReadProcessStat(pid)) tree[pid] = stat->parent;
  }
  return tree;
}

enum class Kinship { kNone, kDescendant, kUncertain };

Kinship KinshipOf(pid_t process, pid_t root, pid_t spared, const ProcessTree& tree) {
  for (auto found = tree.find(process); found != tree.end(); found = tree.find(found->second)) {
    if (found->first == spared) return Kinship::kNone;
    if (found->second == root) return Kinship::kDescendant;
    // The first process, or one whose parent is outside what is seen from here.
    if (found->second == 0) return Kinship::kNone;
  }
  return Kinship::kUncertain;
}

}  // namespace

Descendants DescendantsOf(pid_t root, pid_t spared, const ProcessTree& tree) {
  Descendants descendants;
  for (const auto& [process, parent] : tree) {
    const Kinship kinship = KinshipOf(process, root, spared, tree);
    if (kinship == Kinship::kDescendant) descendants.processes.push_back(process);
    if (kinship == Kinship::kUncertain) descendants.is_certain = false;
  }
  return descendants;
}

bool KillDescendants(pid_t spared) {
  const Descendants descendants = DescendantsOf(getpid(), spared, ReadProcessTree());
  for (const pid_t process : descendants.processes) kill(process, SIGKILL);
  return !descendants.processes.empty() || !descendants.is_certain;
}

}  // namespace tandem::command
