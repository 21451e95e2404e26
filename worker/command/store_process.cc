#include "worker/command/store_process.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "common/spawn.h"

namespace tandem::command {

absl::StatusOr<pid_t> StartStore(int listening_socket) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return Spawn({.path = self.parent_path() / "tandem-store",
                .arguments = {"--listen-fd", "3"},
                .descriptors = {STDIN_FILENO, STDERR_FILENO, STDERR_FILENO, listening_socket}});
}

}  // namespace tandem::command
