#include "worker/command/environment.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "worker/command/master_port.h"

namespace tandem::command {
namespace {

// "NAME=" of "NAME=value".
absl::string_view NameOf(absl::string_view variable) {
  return variable.substr(0, variable.find('=') + 1);
}

// Variables in the order in which they were set first; the value is the one that was set last.
class Variables {
 public:
  void Set(std::string variable) {
    for (std::string& existing : all_) {
      if (NameOf(existing) == NameOf(variable)) {
        existing = std::move(variable);
        return;
      }
    }
    all_.push_back(std::move(variable));
  }

  template <typename Value>
  void Set(absl::string_view name, const Value& value) {
    Set(absl::StrCat(name, "=", value));
  }

  std::vector<std::string> Take() { return std::move(all_); }

 private:
  std::vector<std::string> all_;
};

void SetTorchrun(const v1::Prepare& prepare, const v1::Start& start, const ProgramHandles& handles,
                 Variables* variables) {
  const v1::JobSpec& spec = prepare.spec();
  const bool is_hosted = HostsStore(spec.command());
  variables->Set("RANK", prepare.rank());
  variables->Set("LOCAL_RANK", prepare.local_rank());
  variables->Set("WORLD_SIZE", prepare.world_size());
  variables->Set("LOCAL_WORLD_SIZE", prepare.local_world_size());
  variables->Set("GROUP_RANK", prepare.group_rank());
  variables->Set("GROUP_WORLD_SIZE", prepare.group_world_size());
  variables->Set("ROLE_RANK", prepare.rank());
  variables->Set("ROLE_WORLD_SIZE", prepare.world_size());
  variables->Set("ROLE_NAME", "default");
  variables->Set("MASTER_ADDR", start.master_address());
  variables->Set("MASTER_PORT", start.master_port());
  variables->Set("TORCHELASTIC_RUN_ID", prepare.job_id());
  variables->Set("TORCHELASTIC_RESTART_COUNT", prepare.attempt() - 1);
  variables->Set("TORCHELASTIC_MAX_RESTARTS", spec.restart().max());
  variables->Set("TORCHELASTIC_USE_AGENT_STORE", is_hosted ? "True" : "False");
  variables->Set("TORCHELASTIC_ERROR_FILE", handles.error_file);
  variables->Set("TORCH_NCCL_ASYNC_ERROR_HANDLING", 1);
  variables->Set("OMP_NUM_THREADS", spec.threads_per_rank());
  for (const v1::EnvironmentVariable& variable : prepare.device_environment()) {
    variables->Set(variable.name(), variable.value());
  }
}

void SetTandem(const v1::Prepare& prepare, const ProgramHandles& handles, Variables* variables) {
  variables->Set("TANDEM_JOB_ID", prepare.job_id());
  variables->Set("TANDEM_ATTEMPT", prepare.attempt());
  variables->Set("TANDEM_RANK", prepare.rank());
  variables->Set("TANDEM_LOGICAL_RANKS", prepare.spec().logical_ranks());
  variables->Set("TANDEM_SEED", prepare.spec().seed());
  variables->Set("TANDEM_REPORT_FD", handles.report_fd);
  if (prepare.spec().has_checkpoint()) {
    variables->Set("TANDEM_CHECKPOINT_DIR", CheckpointDir(prepare));
  }
}

}  // namespace

std::string CheckpointDir(const v1::Prepare& prepare) {
  if (!prepare.spec().has_checkpoint()) return "";
  return absl::StrCat(prepare.spec().checkpoint().dir(), "/", prepare.job_id());
}

std::vector<std::string> ProgramEnvironment(const v1::Prepare& prepare, const v1::Start& start,
                                            const ProgramHandles& handles) {
  Variables variables;
  // What Python prints is there when it is printed, as long as the user does not want it otherwise.
  variables.Set("PYTHONUNBUFFERED", 1);
  for (const std::string& variable : prepare.spec().command().env()) variables.Set(variable);
  SetTorchrun(prepare, start, handles, &variables);
  SetTandem(prepare, handles, &variables);
  return variables.Take();
}

}  // namespace tandem::command
