#include "worker/agent/agent_options_from_flags.h"

#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/host/probe.h"
#include "worker/agent/offered_slots.h"

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

// Those that this process may use.
uint32_t Cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<uint32_t>(CPU_COUNT(&set));
}

absl::Status FindSlots(const std::vector<SlotRequest>& requests, AgentOptions* options) {
  if (NeedsProbe(requests)) {
    auto report = host::ProbeDevices(options->ranks.trainer_path, host::kProbePatience);
    if (!report.ok()) return report.status();
    options->host_devices = *std::move(report);
  }
  auto offered = OfferSlots(requests, options->host_devices, Cores());
  if (!offered.ok()) {
    return absl::Status(offered.status().code(),
                        absl::StrCat("--slots: ", offered.status().message()));
  }
  if (!offered->remark.empty()) std::cerr << "tandem-worker: " << offered->remark << std::endl;
  options->slots = std::move(offered->names);
  return absl::OkStatus();
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
  options.ranks.trainer_path = flags.trainer.empty() ? Beside("tandem-trainer") : flags.trainer;
  absl::Status found = CheckProgram("--trainer", options.ranks.trainer_path);
  if (found.ok() && flags.allow_commands) {
    options.ranks.command_path = Beside("tandem-command");
    found = CheckProgram("--allow-commands", options.ranks.command_path);
  }
  if (found.ok()) found = FindSlots(flags.slots, &options);
  if (!found.ok()) return found;
  auto log_directory = MakeLogDirectory(flags.log_dir, options.name);
  if (!log_directory.ok()) return log_directory.status();
  options.ranks.logs = {.directory = *std::move(log_directory),
                        .cap_bytes_per_file = flags.log_cap_bytes};
  options.ranks.kill_grace = flags.kill_grace;
  options.host_watch.look = {.path = ThisProgram(),
                             .arguments = {"--host-facts", "--trainer", options.ranks.trainer_path,
                                           "--log-dir", options.ranks.logs.directory}};
  return options;
}

}  // namespace tandem::agent
