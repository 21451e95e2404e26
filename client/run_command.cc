// `tandem run` and `tandem torchrun`: a job, followed to its end; with --local, on a cluster of its own.
#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/job_options.h"
#include "client/resume_option.h"
#include "client/run_job.h"
#include "common/spec/spec.h"
#include "common/world_size_bounds.h"

namespace tandem::client {
namespace {

struct RunOptions {
  JobOptions job;
  ResumeOption resume;
  std::optional<uint32_t> local_slots;
  bool quiet = false;

  // All slots are this machine's.
  bool IsLocal(const Context& context) const {
    if (local_slots || job.request.torchrun.standalone) return true;
    return job.request.as_torchrun && !context.coordinator_is_given;
  }
};

// Uses every slot that the job can use, unless its author has said how many.
absl::Status FitToSlots(uint32_t slots, Console* console, v1::JobSpec* spec) {
  if (!spec->has_workers()) {
    const uint32_t most = spec->has_logical_ranks() ? spec->logical_ranks() : slots;
    spec->set_workers(std::min(slots, most));
    if (most < slots) {
      console->Remark(absl::StrCat("note: ", most, most == 1 ? " worker" : " workers",
                                   ": logical_ranks is ", most));
    }
  }
  const uint32_t fewest = BoundsOf(*spec).min;
  if (fewest <= slots) return spec::Validate(*spec);
  return absl::InvalidArgumentError(absl::StrCat("workers: ", fewest, " do not fit on --local ",
                                                 slots, ": each needs a slot (--workers ", slots,
                                                 " takes fewer)"));
}

Surroundings Around(bool is_local, bool slots_are_given) {
  Surroundings here = SurroundingsOfThisProcess();
  if (is_local) here.cores = std::max(1u, std::thread::hardware_concurrency());
  here.one_node = is_local && !slots_are_given;
  return here;
}

// Programs are run for what they print; a job of ours for its result.
absl::StatusOr<RankOutput::Options> OutputOf(const ProgramJob& job, bool quiet) {
  RankOutput::Options output;
  output.quiet = quiet || !job.spec.has_command();
  output.shown = job.shown;
  if (job.log_dir.empty()) return output;
  auto files = RankLogFiles::In(job.log_dir);
  if (!files.ok()) return files.status();
  output.files = *std::move(files);
  return output;
}

// What is to be run, and where. Remarks upon it are made.
absl::StatusOr<RunRequest> Load(Context* context, const RunOptions& options) {
  const bool is_local = options.IsLocal(*context);
  auto job = options.job.Load(context->program, Around(is_local, options.local_slots.has_value()));
  if (!job.ok()) return job.status();
  auto output = OutputOf(*job, options.quiet);
  if (!output.ok()) return output.status();
  for (const std::string& remark : job->remarks) context->console.Remark(remark);
  RunRequest request{std::move(job->spec), std::nullopt, *std::move(output)};
  if (!is_local) return request;
  request.local_slots = options.local_slots.value_or(std::max(1u, request.spec.workers()));
  const absl::Status fits = FitToSlots(*request.local_slots, &context->console, &request.spec);
  if (!fits.ok()) return fits;
  return request;
}

absl::StatusOr<ExitCode> LoadAndRun(Context* context, const RunOptions& options) {
  auto request = Load(context, options);
  if (!request.ok()) return request.status();
  Interrupts interrupts;
  const SignalForwarder forwarder(&interrupts);
  const absl::Status resumed = options.resume.ApplyTo(&request->spec, *context);
  if (!resumed.ok()) return resumed;
  NoteDerivedRanks(request->spec, &context->console);
  return RunJob(context, &interrupts, *std::move(request));
}

void AddQuietTo(CLI::App* command, bool* quiet) {
  command->add_flag("-q,--quiet", *quiet, "Do not show what a program prints");
}

}  // namespace

void AddRunCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app->add_subcommand("run", "Submit a job and follow it to its end");
  options->job.AddTo(command);
  options->resume.AddTo(command);
  constexpr uint32_t kMostSlots = 1024;
  command
      ->add_option("--local", options->local_slots,
                   "Run on this machine, on a coordinator and a worker with so many slots that are "
                   "started for this job")
      ->type_name("SLOTS")
      ->check(CLI::Range(1u, kMostSlots));
  AddQuietTo(command, &options->quiet);
  command->callback([=] { context->command = [=] { return LoadAndRun(context, *options); }; });
}

void AddTorchrunCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app->add_subcommand("torchrun", "Run a command line that torchrun accepts");
  options->job.AddForTorchrunTo(command);
  AddQuietTo(command, &options->quiet);
  command->footer(
      R"(A script of Python with its arguments stands behind the options, as in
  tandem-torchrun --nproc-per-node 2 train.py --config config.yaml
which is another name of this. It runs on this machine, unless a coordinator is
given by TANDEM_COORDINATOR or --coordinator; --standalone, always.)");
  command->callback([=] { context->command = [=] { return LoadAndRun(context, *options); }; });
}

}  // namespace tandem::client
