#include "common/host/limits.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tandem::host {
namespace {

constexpr char kCgroups[] = "/sys/fs/cgroup";
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// "0::/user.slice/..." in the kernel's list, the line of the hierarchy that all resources share.
std::string OwnCgroup() {
  std::ifstream list("/proc/self/cgroup");
  for (std::string line; std::getline(list, line);) {
    if (absl::StartsWith(line, "0::")) return line.substr(3);
  }
  return "/";
}

// "max", and a file that is not there, are no number.
uint64_t LimitIn(const std::string& file) {
  std::ifstream text(file);
  uint64_t bytes = 0;
  return text >> bytes ? bytes : kNoLimit;
}

}  // namespace

v1::FolderSpace SpaceOf(const std::string& folder) {
  v1::FolderSpace space;
  space.set_path(folder);
  struct statvfs found = {};
  if (statvfs(folder.c_str(), &found) != 0) {
    space.set_problem(absl::StrCat(folder, ": ", std::strerror(errno)));
    return space;
  }
  space.set_total_bytes(uint64_t{found.f_blocks} * found.f_frsize);
  space.set_free_bytes(uint64_t{found.f_bavail} * found.f_frsize);
  return space;
}

v1::ProcessLimits LimitsOfThisProcess() {
  v1::ProcessLimits limits;
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limits.set_open_files(limit.rlim_cur);
  limits.set_most_open_files(limit.rlim_max);
  getrlimit(RLIMIT_MEMLOCK, &limit);
  limits.set_locked_bytes(limit.rlim_cur);
  std::error_code ignored;
  limits.set_has_rdma(std::filesystem::exists("/dev/infiniband", ignored));
  limits.set_memory_bytes(MemoryLimit(kCgroups, OwnCgroup()));
  return limits;
}

uint64_t MemoryLimit(const std::string& root, const std::string& path) {
  // Where there is no version 2: the first controller of version 1, as a container sees it.
  uint64_t limit = LimitIn(root + "/memory/memory.limit_in_bytes");
  for (std::filesystem::path group = path;; group = group.parent_path()) {
    limit = std::min(limit, LimitIn(absl::StrCat(root, group.string(), "/memory.max")));
    if (group == group.parent_path()) break;
  }
  // Version 1 writes none as the largest number of pages.
  constexpr uint64_t kMoreThanAnybodyHas = uint64_t{1} << 60;
  return limit >= kMoreThanAnybodyHas ? 0 : limit;
}

}  // namespace tandem::host
