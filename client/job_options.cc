#include "client/job_options.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/program/program_words.h"
#include "common/spec/plain_text.h"
#include "common/spec/spec_file.h"

namespace tandem::client {
namespace {

constexpr const char* kGroup = "For a program";
constexpr const char* kFooter =
    R"(Instead of SPEC, a program with its arguments may stand behind --, as in
  tandem run --local 2 -- python train.py --config config.yaml
It is started once for each rank, as it stands there and with torchrun's
environment. Only a first word that ends in .py is run by python3 -u, as under
torchrun. --set gives the job any other key: --set command.stop_grace=10s.)";

// How a compiled program begins.
constexpr const char* kExecutable = "\177E";

// Where people forget the --.
bool IsProgram(const std::string& path) {
  if (absl::EndsWith(path, ".py") || absl::EndsWith(path, ".sh")) return true;
  std::error_code error;
  // What a pipe has can be read only once.
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::string beginning(2, '\0');
  std::ifstream(path, std::ios::binary).read(beginning.data(), 2);
  return beginning == "#!" || beginning == kExecutable;
}

absl::Status NotASpecification(const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat(spec::Excerpt(path),
                   " is a program, and no specification; a program stands behind "
                   "--, as in: tandem run --local 2 -- ",
                   absl::EndsWith(path, ".py") ? "python3 " : "", spec::Excerpt(path)));
}

}  // namespace

Surroundings SurroundingsOfThisProcess() {
  std::error_code error;
  Surroundings here;
  here.folder = std::filesystem::current_path(error).string();
  // As torchrun has it.
  const char* python = std::getenv("PYTHON_EXEC");
  if (python != nullptr && *python != '\0') here.python = python;
  const char* threads = std::getenv("OMP_NUM_THREADS");
  uint32_t count = 0;
  if (threads != nullptr && absl::SimpleAtoi(threads, &count)) here.threads = count;
  return here;
}

void JobOptions::AddProgramOptionsTo(CLI::App* command) {
  command->add_option("--name", request.name, "What the job is called. Left out: as the program")
      ->group(kGroup);
  command->add_option("--env", request.env, "A variable of the program; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      ->add_option("--working-dir", request.working_dir,
                   "Folder in which the program is started. Left out: the current one")
      ->type_name("DIR")
      ->group(kGroup);
}

void JobOptions::AddForPrograms(CLI::App* command, const std::function<void()>& add_torchruns) {
  const size_t before = command->get_options().size();
  AddProgramOptionsTo(command);
  add_torchruns();
  const std::vector<CLI::Option*> all = command->get_options();
  for_programs_.assign(all.begin() + static_cast<ptrdiff_t>(before), all.end());
  command->get_option("SPEC")->required(false);
  command->footer(kFooter);
}

void JobOptions::AddTo(CLI::App* command) {
  spec.AddTo(command);
  AddForPrograms(command, [=, this] { request.torchrun.AddTo(command); });
}

void JobOptions::AddWithoutWorkersTo(CLI::App* command) {
  spec.AddWithoutWorkersTo(command);
  AddForPrograms(command, [=, this] { request.torchrun.AddProgramKindTo(command); });
}

void JobOptions::AddForTorchrunTo(CLI::App* command) {
  request.as_torchrun = true;
  request.torchrun.AddTo(command);
  spec.AddSettingsTo(command);
}

absl::StatusOr<ProgramJob> JobOptions::LoadFile() const {
  for (const CLI::Option* option : for_programs_) {
    if (option->count() == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(option->get_name(),
                     ": goes with a program behind --; in a specification, --set "
                     "changes any key, as in --set restart.max=0"));
  }
  if (IsProgram(spec.file)) return NotASpecification(spec.file);
  auto loaded = spec.Load();
  if (!loaded.ok()) return loaded.status();
  ProgramJob job;
  job.spec = *std::move(loaded);
  return job;
}

absl::StatusOr<ProgramJob> JobOptions::LoadProgram(const std::vector<std::string>& program,
                                                   const Surroundings& surroundings) const {
  if (program.empty()) return absl::InvalidArgumentError("no program is named");
  ProgramRequest asked = request;
  asked.words = program;
  auto job = JobOf(asked, surroundings);
  if (!job.ok()) return job;
  if (job->spec.has_workers() && spec.workers) {
    return absl::InvalidArgumentError(
        "--workers: --nproc-per-node and --nnodes say how many; give one or the other");
  }
  auto complete = spec.Complete(job->spec);
  if (!complete.ok()) return complete.status();
  job->spec = *std::move(complete);
  return job;
}

absl::StatusOr<ProgramJob> JobOptions::Load(const std::optional<std::vector<std::string>>& program,
                                            const Surroundings& surroundings) const {
  if (program && !spec.file.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec::Excerpt(spec.file),
                     ": a specification, or a program behind --, but not "
                     "both; --set 'command.argv=[...]' changes the program of a specification"));
  }
  if (program) return LoadProgram(*program, surroundings);
  if (request.as_torchrun) {
    return absl::InvalidArgumentError(
        "no script stands behind the options; see tandem torchrun --help");
  }
  if (spec.file.empty()) {
    return absl::InvalidArgumentError("SPEC is required, or -- and a program; see tandem --help");
  }
  return LoadFile();
}

}  // namespace tandem::client
