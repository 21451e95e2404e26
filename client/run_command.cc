// `tandem run` and `tandem torchrun`: a job, followed to its end; with --local, on a cluster of its own.
#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/job_options.h"
#include "client/local_slots.h"
#include "client/resume_option.h"
#include "client/run_job.h"
#include "common/slot_request.h"
#include "common/spec/spec.h"
#include "common/world_size_bounds.h"

namespace tandem::client {
namespace {

struct RunOptions {
  JobOptions job;
  ResumeOption resume;
  std::optional<LocalSlots> local_slots;
  bool quiet = false;

  // All slots are this machine's.
  bool IsLocal(const Context& context) const {
    if (local_slots || job.request.torchrun.standalone) return true;
    return job.request.as_torchrun && !context.coordinator_is_given;
  }
};

// Uses every slot that the job can use, unless its author has said how many.
absl::Status FitToSlots(const LocalSlots& slots, Console* console, v1::JobSpec* spec) {
  if (!spec->has_workers()) {
    const uint32_t most = spec->has_logical_ranks() ? spec->logical_ranks() : slots.count;
    spec->set_workers(std::min(slots.count, most));
    if (most < slots.count) {
      console->Remark(absl::StrCat("note: ", most, most == 1 ? " worker" : " workers",
                                   ": logical_ranks is ", most));
    }
  }
  const uint32_t fewest = BoundsOf(*spec).min;
  if (fewest <= slots.count) return spec::Validate(*spec);
  const std::string here = slots.kind == kCpuKind ? absl::StrCat("--local ", slots.count)
                                                  : absl::StrCat("the ", slots.count, " ",
                                                                 slots.kind, " slots of --local");
  return absl::InvalidArgumentError(absl::StrCat("workers: ", fewest, " do not fit on ", here,
                                                 ": each needs a slot (--workers ", slots.count,
                                                 " takes fewer)"));
}

std::string DescribeAuto(const LocalSlots& found) {
  return absl::StrCat(
      "note: --local auto is ", found.count, " ", found.kind, found.count == 1 ? " slot" : " slots",
      found.kind == kCpuKind
          ? ", since there is no device that this build can use (tandem doctor says why)"
          : "");
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

// What is to be run. Remarks upon it are made.
absl::StatusOr<RunRequest> Load(Context* context, const RunOptions& options) {
  const bool is_local = options.IsLocal(*context);
  auto job = options.job.Load(context->program, Around(is_local, options.local_slots.has_value()));
  if (!job.ok()) return job.status();
  auto output = OutputOf(*job, options.quiet);
  if (!output.ok()) return output.status();
  for (const std::string& remark : job->remarks) context->console.Remark(remark);
  return RunRequest{std::move(job->spec), nullptr, *std::move(output)};
}

// A cluster of its own for the job, which is made to fit on it: at once where its slots are known, else as soon as its worker
// has found them.
absl::StatusOr<std::unique_ptr<LocalCluster>> StartCluster(Context* context,
                                                           const RunOptions& options,
                                                           Interrupts* interrupts,
                                                           v1::JobSpec* spec) {
  const LocalSlots slots =
      options.local_slots.value_or(LocalSlots::OnCpu(std::max(1U, spec->workers())));
  const bool is_known = slots.kind == kCpuKind;
  absl::Status fits = CheckKind(slots, *spec);
  if (fits.ok() && is_known) fits = FitToSlots(slots, &context->console, spec);
  if (!fits.ok()) return fits;
  auto cluster = LocalCluster::Start({LocalCluster::FolderOfThisProgram(), slots.text}, interrupts);
  if (!cluster.ok() || is_known) return cluster;
  const auto found = FindLocalSlots(**cluster, *spec, *interrupts);
  if (!found.ok()) return found.status();
  if (slots.kind.empty()) context->console.Remark(DescribeAuto(*found));
  fits = FitToSlots(*found, &context->console, spec);
  if (!fits.ok()) return fits;
  return cluster;
}

absl::StatusOr<ExitCode> LoadAndRun(Context* context, const RunOptions& options) {
  auto request = Load(context, options);
  if (!request.ok()) return request.status();
  Interrupts interrupts;
  const SignalForwarder forwarder(&interrupts);
  const absl::Status resumed = options.resume.ApplyTo(&request->spec, *context);
  if (!resumed.ok()) return resumed;
  std::unique_ptr<LocalCluster> cluster;
  if (options.IsLocal(*context)) {
    auto started = StartCluster(context, options, &interrupts, &request->spec);
    if (!started.ok()) return started.status();
    cluster = *std::move(started);
    request->cluster = cluster.get();
  }
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
  command
      ->add_option_function<std::string>(
          "--local",
          [options](const std::string& text) {
            auto slots = ParseLocalSlots(text);
            if (!slots.ok()) throw CLI::ValidationError(std::string(slots.status().message()));
            options->local_slots = *std::move(slots);
          },
          "Run on this machine, on a coordinator and a worker that are started for this job: N for "
          "so many slots on the CPU, or cuda:0,1, cuda:all, auto as of tandem-worker --slots")
      ->type_name("SLOTS");
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
