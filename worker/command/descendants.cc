#include "worker/command/descendants.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "worker/process/process_stat.h"

namespace tandem::command {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<ProcessTree> ReadProcessTree(const std::string& proc) {
  ProcessTree tree;
  std::error_code error;
  for (fs::directory_iterator entry(proc, error), end; !error && entry != end;
       entry.increment(error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->path().filename().string(), &pid)) continue;
    if (const auto stat = ReadProcessStat(pid)) tree[pid] = stat->parent;
  }
  // Where not even we are seen, nobody is: no descriptor is left to read with, or nothing is mounted there.
  if (!error && tree.contains(getpid())) return tree;
  return absl::UnavailableError(absl::StrCat(
      "cannot see which processes there are, so some of the program may be left: cannot read ",
      proc, error ? absl::StrCat(": ", error.message()) : ""));
}

bool IsDescendant(pid_t process, pid_t root, pid_t spared, const ProcessTree& tree) {
  auto found = tree.find(process);
  // A line of parents is no longer than all, unless numbers were given anew while the tree was read.
  for (size_t length = 0; found != tree.end() && length < tree.size(); ++length) {
    if (found->first == spared) return false;
    if (found->second == root) return true;
    found = tree.find(found->second);
  }
  return false;
}

}  // namespace

std::vector<pid_t> DescendantsOf(pid_t root, pid_t spared, const ProcessTree& tree) {
  std::vector<pid_t> descendants;
  for (const auto& [process, parent] : tree) {
    if (IsDescendant(process, root, spared, tree)) descendants.push_back(process);
  }
  return descendants;
}

absl::StatusOr<std::vector<pid_t>> KillDescendants(pid_t spared, const std::string& proc) {
  const absl::StatusOr<ProcessTree> tree = ReadProcessTree(proc);
  if (!tree.ok()) return tree.status();
  std::vector<pid_t> descendants = DescendantsOf(getpid(), spared, *tree);
  for (const pid_t process : descendants) kill(process, SIGKILL);
  return descendants;
}

std::string DescribeLeftBehind(const absl::StatusOr<std::vector<pid_t>>& left) {
  if (!left.ok()) return std::string(left.status().message());
  return absl::StrCat("the program left processes that do not end though they were killed ",
                      absl::FormatDuration(kSweepPatience), " ago: pid ",
                      absl::StrJoin(*left, ", "), "; they stay");
}

}  // namespace tandem::command
