#include "worker/command/header.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/slot_request.h"
#include "common/version.h"
#include "worker/command/environment.h"
#include "worker/command/master_port.h"

namespace tandem::command {
namespace {

constexpr size_t kLongest = 1000;

std::string NamesOf(const v1::Command& command) {
  return absl::StrJoin(command.env(), ", ", [](std::string* out, const std::string& variable) {
    absl::StrAppend(out, variable.substr(0, variable.find('=')));
  });
}

// None for a slot of kind "cpu", from which devices are only hidden.
std::string VariablesOf(const v1::Prepare& prepare) {
  if (KindOfSlot(prepare.slot()) == kCpuKind) return "";
  return absl::StrJoin(prepare.device_environment(), " ",
                       [](std::string* out, const v1::EnvironmentVariable& variable) {
                         absl::StrAppend(out, variable.name(), "=", variable.value());
                       });
}

std::string MeetingPlace(const v1::Command& command, const v1::Start& start) {
  const bool is_hosted = HostsStore(command);
  return absl::StrCat(start.master_address(), ":", start.master_port(),
                      is_hosted ? ", the store is hosted there" : ", for rank 0 to bind");
}

}  // namespace

void PrintHeader(const v1::Prepare& prepare, const v1::Start& start, std::ostream& out) {
  const v1::JobSpec& spec = prepare.spec();
  const v1::Command& command = spec.command();
  const auto line = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out << absl::StrFormat("  %-14s %s\n", name, value);
  };
  out << "tandem-command " << kVersion << "\n";
  line("job",
       absl::StrFormat("%s (%s), attempt %d", prepare.job_id(), spec.name(), prepare.attempt()));
  line("rank",
       absl::StrFormat("%d of %d, local rank %d of %d, worker %d of %d", prepare.rank(),
                       prepare.world_size(), prepare.local_rank(), prepare.local_world_size(),
                       prepare.group_rank(), prepare.group_world_size()));
  // On one line, whatever there is in it, and not a long one.
  line("program", absl::Utf8SafeCEscape(absl::StrJoin(command.argv(), " ").substr(0, kLongest)));
  line("folder", command.working_dir());
  line("variables", NamesOf(command));
  line("device", prepare.slot());
  line("set for it", VariablesOf(prepare));
  line("threads", absl::StrCat(spec.threads_per_rank()));
  line("seed", absl::StrCat(spec.seed()));
  line("meets at", MeetingPlace(command, start));
  line("checkpoints", CheckpointDir(prepare));
  out << std::flush;
}

}  // namespace tandem::command
