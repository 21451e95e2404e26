#include "client/program/program_job.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/program/program_words.h"

namespace tandem::client {
namespace {

template <typename... Parts>
absl::Status Refused(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// More is no number of nodes or ranks, and too many even for one of each to multiply.
constexpr uint32_t kMost = 1024;

bool ParseCount(absl::string_view text, uint32_t* count) {
  return absl::SimpleAtoi(text, count) && *count >= 1 && *count <= kMost;
}

absl::StatusOr<ProgramKind> KindOf(const ProgramRequest& request) {
  const TorchrunOptions& torchrun = request.torchrun;
  if (torchrun.module && torchrun.no_python) {
    return Refused("--module: is run by Python, which --no-python rules out; give one of them");
  }
  if (torchrun.module) return ProgramKind::kPythonModule;
  if (torchrun.no_python) return ProgramKind::kItself;
  return request.as_torchrun ? ProgramKind::kPythonScript : ProgramKind::kAsTyped;
}

absl::StatusOr<uint32_t> RanksOnEachNode(const std::string& text, const Surroundings& around) {
  uint32_t ranks = 1;
  if (text.empty() || ParseCount(text, &ranks)) return ranks;
  if (text != "auto" && text != "cpu" && text != "gpu") {
    return Refused("--nproc-per-node: expected 1 to ", kMost, ", auto, cpu or gpu; found '", text,
                   "'");
  }
  if (!around.cores) {
    return Refused("--nproc-per-node ", text,
                   ": the coordinator has yet to choose the nodes; give a number");
  }
  if (text == "gpu") {
    return Refused(
        "--nproc-per-node gpu: slots are cores here; tandem run --local cuda:all -- PROGRAM takes "
        "the "
        "devices of this machine");
  }
  return std::clamp(*around.cores, 1u, kMost);
}

struct Range {
  uint32_t min = 1;
  uint32_t max = 1;
};

absl::StatusOr<Range> Nodes(const std::string& text, const Surroundings& around) {
  Range nodes;
  const std::pair<std::string, std::string> ends = absl::StrSplit(text, absl::MaxSplits(':', 1));
  const bool is_range = text.find(':') != std::string::npos;
  const bool is_valid = ParseCount(ends.first, &nodes.min) &&
                        ParseCount(is_range ? ends.second : ends.first, &nodes.max) &&
                        nodes.min <= nodes.max;
  if (!text.empty() && !is_valid) {
    return Refused("--nnodes: expected a number from 1 to ", kMost,
                   ", or MIN:MAX as in 1:4; found '", text, "'");
  }
  if (text.empty()) nodes = Range();
  if (!around.one_node) return nodes;
  if (nodes.min > 1) {
    return Refused("--nnodes ", text,
                   ": this machine is one node; TANDEM_COORDINATOR=HOST:PORT, "
                   "or --coordinator, names a cluster to run on");
  }
  return Range();
}

absl::Status SetWorkers(const ProgramRequest& request, const Surroundings& around,
                        v1::JobSpec* spec) {
  const TorchrunOptions& torchrun = request.torchrun;
  const auto ranks = RanksOnEachNode(torchrun.nproc_per_node, around);
  if (!ranks.ok()) return ranks.status();
  const auto nodes = Nodes(torchrun.nnodes, around);
  if (!nodes.ok()) return nodes.status();
  const bool is_said = request.as_torchrun || torchrun.standalone ||
                       !torchrun.nproc_per_node.empty() || !torchrun.nnodes.empty();
  if (!is_said) return absl::OkStatus();
  spec->set_workers(nodes->max * *ranks);
  if (nodes->min < nodes->max) spec->set_min_workers(nodes->min * *ranks);
  return absl::OkStatus();
}

std::string NameFor(const ProgramRequest& request, const std::vector<std::string>& argv) {
  if (!request.name.empty()) return request.name;
  const std::string& id = request.torchrun.rdzv_id;
  return id.empty() ? NameOfProgram(argv) : PlainName(id);
}

void SetCommand(const ProgramRequest& request, const Surroundings& around, ProgramKind kind,
                v1::JobSpec* spec) {
  const std::vector<std::string> argv = WordsToStart(request.words, kind, around.python);
  const auto folder = std::filesystem::path(around.folder) / request.working_dir;
  spec->set_name(NameFor(request, argv));
  v1::Command& command = *spec->mutable_command();
  command.mutable_argv()->Assign(argv.begin(), argv.end());
  command.mutable_env()->Assign(request.env.begin(), request.env.end());
  // Joined with nothing, a folder has a slash behind it.
  command.set_working_dir(request.working_dir.empty() ? around.folder
                                                      : folder.lexically_normal().string());
  if (request.torchrun.master_port) command.set_master_port(*request.torchrun.master_port);
  // torchrun leaves it as it is.
  if (request.as_torchrun && around.threads) spec->set_threads_per_rank(*around.threads);
}

void SetRestarts(const ProgramRequest& request, v1::JobSpec* spec) {
  std::optional<uint32_t> most = request.torchrun.max_restarts;
  if (!most && request.as_torchrun) most = 0;
  if (most) spec->mutable_restart()->set_max(*most);
}

std::vector<std::string> Remarks(const TorchrunOptions& torchrun) {
  if (torchrun.ignored.empty()) return {};
  return {absl::StrCat("note: no effect under Tandem: ", absl::StrJoin(torchrun.ignored, ", "))};
}

}  // namespace

absl::StatusOr<ProgramJob> JobOf(const ProgramRequest& request, const Surroundings& surroundings) {
  const auto kind = KindOf(request);
  if (!kind.ok()) return kind.status();
  auto shown = ShownOutput::Parse(request.torchrun.redirects, request.torchrun.tee);
  if (!shown.ok()) return shown.status();
  ProgramJob job;
  SetCommand(request, surroundings, *kind, &job.spec);
  SetRestarts(request, &job.spec);
  const absl::Status sized = SetWorkers(request, surroundings, &job.spec);
  if (!sized.ok()) return sized;
  job.shown = *std::move(shown);
  job.log_dir = request.torchrun.log_dir;
  job.remarks = Remarks(request.torchrun);
  return job;
}

}  // namespace tandem::client
