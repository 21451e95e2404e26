#include "worker/process/process_stat.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace tandem {
namespace {

// PF_EXITING of the kernel's include/linux/sched.h.
constexpr uint64_t kExiting = 0x4;

v1::ProcessState StateOf(char letter) {
  switch (letter) {
    case 'R':
      return v1::PROCESS_STATE_RUNNING;
    case 'S':
    case 'I':
      return v1::PROCESS_STATE_SLEEPING;
    case 'T':
    case 't':
      return v1::PROCESS_STATE_STOPPED;
    case 'D':
      return v1::PROCESS_STATE_BLOCKED;
    default:
      return v1::PROCESS_STATE_UNSPECIFIED;
  }
}

}  // namespace

// The second field, a name in parentheses, may hold anything.
std::optional<ProcessStat> ParseProcessStat(const std::string& text) {
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  char state = 0;
  std::string skipped;
  uint64_t flags = 0, user = 0, system = 0;
  pid_t parent = 0;
  rest >> state >> parent;  // Fields 3 and 4.
  for (int field = 5; field <= 8; ++field) rest >> skipped;
  rest >> flags;  // Field 9.
  for (int field = 10; field <= 13; ++field) rest >> skipped;
  rest >> user >> system;  // Fields 14 and 15, in ticks.
  if (!rest) return std::nullopt;
  static const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  return ProcessStat{
      .state = StateOf(state),
      .parent = parent,
      .is_exiting = state == 'Z' || state == 'X' || (flags & kExiting) != 0,
      .cpu_time = absl::Seconds(static_cast<double>(user + system) / ticks_per_second)};
}

std::optional<ProcessStat> ReadProcessStat(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string text;
  if (!std::getline(file, text, '\0')) return std::nullopt;
  return ParseProcessStat(text);
}

}  // namespace tandem
