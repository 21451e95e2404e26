#include "common/host/processes.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tandem::host {
namespace {

// Of "PID (NAME) STATE PARENT ..."; a name may have parentheses and spaces of its own.
std::optional<Process> ReadProcess(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const size_t begin = line.find('('), end = line.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end + 4 > line.size())
    return std::nullopt;
  Process process{.pid = pid, .name = line.substr(begin + 1, end - begin - 1)};
  // A process that has ended, and that its parent has yet to ask about, holds nothing.
  if (line[end + 2] == 'Z') return std::nullopt;
  process.parent = static_cast<pid_t>(std::strtol(line.c_str() + end + 4, nullptr, 10));
  return process;
}

bool BelongsTo(uid_t user, pid_t pid) {
  struct stat owner = {};
  return stat(absl::StrCat("/proc/", pid).c_str(), &owner) == 0 && owner.st_uid == user;
}

bool IsOfAnAgent(const Process& process) {
  return process.name == "tandem-trainer" || process.name == "tandem-command" ||
         process.name == "tandem-store";
}

bool TakesInOrphans(const Process& process) {
  return process.name == "systemd" || process.name == "init" ||
         (process.pid == 1 && process.name != "tandem-worker");
}

}  // namespace

std::vector<Process> ProcessesOf(uid_t user) {
  std::map<pid_t, Process> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid) || !BelongsTo(user, pid))
      continue;
    if (auto process = ReadProcess(pid)) found[pid] = *std::move(process);
  }
  std::vector<Process> all;
  for (const auto& [pid, process] : found) {
    all.push_back(process);
    if (found.contains(process.parent)) continue;
    if (auto parent = ReadProcess(process.parent)) all.push_back(*std::move(parent));
  }
  return all;
}

std::vector<v1::StaleProcess> StaleTrainers(const std::vector<Process>& processes) {
  std::map<pid_t, const Process*> by_pid;
  for (const Process& process : processes) by_pid[process.pid] = &process;
  std::vector<v1::StaleProcess> stale;
  for (const auto& [pid, process] : by_pid) {
    const auto parent = by_pid.find(process->parent);
    if (!IsOfAnAgent(*process) || parent == by_pid.end() || !TakesInOrphans(*parent->second))
      continue;
    v1::StaleProcess& found = stale.emplace_back();
    found.set_pid(pid);
    found.set_name(process->name);
  }
  return stale;
}

}  // namespace tandem::host
