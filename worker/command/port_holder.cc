#include "worker/command/port_holder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace tandem::command {
namespace {

namespace fs = std::filesystem;

// Columns of /proc/net/tcp (proc(5)).
constexpr size_t kLocalAddress = 1;
constexpr size_t kState = 3;
constexpr size_t kInode = 9;
constexpr char kListening[] = "0A";

constexpr char kUnseen[] =
    "a process that cannot be seen from here (another user's, or in another namespace)";

std::string Contents(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool HoldsSocket(const fs::path& process, const std::string& link) {
  std::error_code ignored;
  for (const auto& descriptor : fs::directory_iterator(process / "fd", ignored)) {
    if (fs::read_symlink(descriptor, ignored) == link) return true;
  }
  return false;
}

std::optional<std::string> HolderOf(uint64_t inode) {
  const std::string link = absl::StrCat("socket:[", inode, "]");
  std::error_code ignored;
  for (const auto& process : fs::directory_iterator("/proc", ignored)) {
    const std::string pid = process.path().filename();
    if (!std::all_of(pid.begin(), pid.end(), absl::ascii_isdigit)) continue;
    if (!HoldsSocket(process.path(), link)) continue;
    const std::string command =
        absl::StrReplaceAll(Contents(process.path() / "cmdline"), {{std::string(1, '\0'), " "}});
    return absl::StrCat("pid ", pid, " (", absl::StripAsciiWhitespace(command), ")");
  }
  return std::nullopt;
}

}  // namespace

std::vector<uint64_t> SocketsAtPort(absl::string_view table, uint16_t port) {
  const std::string suffix = absl::StrCat(":", absl::Hex(port, absl::kZeroPad4));
  std::vector<uint64_t> sockets;
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    const std::vector<absl::string_view> columns =
        absl::StrSplit(line, ' ', absl::SkipWhitespace());
    uint64_t inode = 0;
    if (columns.size() <= kInode || !absl::SimpleAtoi(columns[kInode], &inode) || inode == 0)
      continue;
    if (!absl::EndsWithIgnoreCase(columns[kLocalAddress], suffix)) continue;
    const bool listens = columns[kState] == kListening;
    sockets.insert(listens ? sockets.begin() : sockets.end(), inode);
  }
  return sockets;
}

std::string DescribePortHolder(uint16_t port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    for (const uint64_t inode : SocketsAtPort(Contents(table), port)) {
      if (const auto holder = HolderOf(inode)) return *holder;
    }
  }
  return kUnseen;
}

}  // namespace tandem::command
