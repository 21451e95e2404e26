#include "worker/agent/agent_options_from_flags.h"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tandem::agent {
namespace {

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

Incarnation NewIncarnation() {
  char bytes[16];
  // Cannot fail for so few bytes.
  if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) std::abort();
  return Incarnation(absl::BytesToHexString({bytes, sizeof(bytes)}));
}

std::string ThisProgram() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::string Beside(const std::string& name) {
  return std::filesystem::path(ThisProgram()).parent_path() / name;
}

absl::Status CheckProgram(absl::string_view flag, const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": there is no program at ", path, " that this user may execute"));
}

absl::StatusOr<std::string> MakeLogDirectory(const std::string& given, const WorkerName& worker) {
  if (given.empty()) {
    const char* temporary = std::getenv("TMPDIR");
    std::string path = absl::StrCat(temporary == nullptr ? "/tmp" : temporary, "/tandem-worker-",
                                    worker.value(), "-XXXXXX");
    if (mkdtemp(path.data()) != nullptr) return path;
    return absl::ErrnoToStatus(errno, absl::StrCat("--log-dir: cannot make ", path));
  }
  std::error_code error;
  std::filesystem::create_directories(given, error);
  if (!error && access(given.c_str(), W_OK | X_OK) == 0) return given;
  return absl::ErrnoToStatus(error ? error.value() : errno,
                             absl::StrCat("--log-dir: cannot write ", given));
}

}  // namespace

absl::StatusOr<AgentOptions> MakeAgentOptions(const Flags& flags) {
  AgentOptions options{.coordinator = flags.coordinator,
                       .incarnation = NewIncarnation(),
                       .host = HostName(),
                       .advertise_address = flags.advertise_address,
                       .exit_when_coordinator_gone = flags.exit_when_coordinator_gone};
  options.name = WorkerName(
      flags.name.empty() ? absl::StrCat(options.host, "-", options.incarnation.value().substr(0, 6))
                         : flags.name);
  auto slots = ParseSlots(flags.slots);
  if (!slots.ok()) return slots.status();
  options.slots = *std::move(slots);
  options.ranks.trainer_path = flags.trainer.empty() ? Beside("tandem-trainer") : flags.trainer;
  absl::Status found = CheckProgram("--trainer", options.ranks.trainer_path);
  if (found.ok() && flags.allow_commands) {
    options.ranks.command_path = Beside("tandem-command");
    found = CheckProgram("--allow-commands", options.ranks.command_path);
  }
  if (!found.ok()) return found;
  auto log_directory = MakeLogDirectory(flags.log_dir, options.name);
  if (!log_directory.ok()) return log_directory.status();
  options.ranks.logs = {.directory = *std::move(log_directory),
                        .cap_bytes_per_file = flags.log_cap_bytes};
  options.ranks.kill_grace = flags.kill_grace;
  options.host_watch.look = {
      .path = ThisProgram(),
      .arguments = {"--host-facts", "--slots", flags.slots, "--trainer", options.ranks.trainer_path,
                    "--log-dir", options.ranks.logs.directory}};
  return options;
}

}  // namespace tandem::agent
