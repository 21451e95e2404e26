// `tandem run`: submits, follows to the end, and says what came out. With --local, on a cluster of
// its own.
#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/follow.h"
#include "client/interrupts.h"
#include "client/local_cluster.h"
#include "client/progress.h"
#include "client/resume_option.h"
#include "client/spec_options.h"
#include "common/spec/spec.h"
#include "common/world_size_bounds.h"

namespace tandem::client {
namespace {

struct RunOptions {
  SpecOptions spec;
  ResumeOption resume;
  std::optional<uint32_t> local_slots;
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
                                                 " trains on fewer)"));
}

// One run, from the connection to the summary. The first interrupt cancels the job, a second one
// leaves.
class Run {
 public:
  Run(Context* context, Interrupts* interrupts, const LocalCluster* cluster)
      : context_(*context), interrupts_(*interrupts), cluster_(cluster) {}

  absl::StatusOr<ExitCode> Execute(const v1::JobSpec& spec) {
    auto connection = Connect();
    if (!connection.ok()) return connection.status();
    const auto submitted = (*connection)->Submit(spec);
    if (!submitted.ok()) return submitted.status();
    auto job = FollowToEnd(connection->get(), submitted->id());
    if (!job.ok()) return job.status();
    return Report(*job);
  }

 private:
  absl::StatusOr<std::unique_ptr<Connection>> Connect() const {
    if (cluster_ == nullptr) return context_.Connect();
    Connection::Options options;
    options.address = cluster_->address();
    return Connection::Open(options);
  }

  absl::StatusOr<v1::Job> FollowToEnd(Connection* connection, const std::string& job_id) {
    Progress progress(&context_.console, &clock_);
    FollowOptions options;
    options.limits.interrupts = &interrupts_;
    // Our own coordinator does not come back.
    if (cluster_ != nullptr) options.patience = absl::ZeroDuration();
    while (true) {
      options.limits.handled = handled_;
      auto job = Follow(
          connection, job_id, options, [&](const v1::Job& job) { progress.Update(Shown(job)); },
          [&](const std::string& trouble) { progress.Remark(trouble); });
      if (job.ok()) return job;
      const absl::Status failure = cluster_ == nullptr ? absl::OkStatus() : cluster_->Failure();
      if (!failure.ok()) return failure;
      if (!absl::IsCancelled(job.status())) return job.status();
      progress.Leave();
      if (handled_ > 0) return Left(job_id);
      handled_ = 1;
      context_.console.RemarkAfterInterrupt(
          absl::StrCat("cancelling ", job_id, "; Ctrl-C again leaves at once"));
      const auto cancelled = connection->Cancel(job_id);
      // Ended meanwhile: its last state says the rest.
      if (!cancelled.ok() && !absl::IsFailedPrecondition(cancelled.status())) {
        return cancelled.status();
      }
    }
  }

  // Our own worker needs a moment to connect, which is no news.
  v1::Job Shown(v1::Job job) const {
    if (cluster_ != nullptr) job.clear_waiting_reason();
    return job;
  }

  absl::Status Left(const std::string& job_id) const {
    return absl::CancelledError(
        cluster_ == nullptr ? absl::StrCat("interrupted; ", job_id, " is still being cancelled")
                            : "interrupted");
  }

  ExitCode Report(const v1::Job& job) {
    context_.Answer(job, [&] { return FormatSummary(job, context_.ViewOfNow()); });
    if (context_.console.settings().json && job.state() == v1::JOB_STATE_FAILED) {
      context_.console.Remark(absl::StrCat(job.id(), ": ", job.cause().message()));
    }
    return handled_ > 0 ? ExitCode::kInterrupted : ExitCodeOf(job.state());
  }

  Context& context_;
  Interrupts& interrupts_;
  const LocalCluster* cluster_;
  SystemClock clock_;
  int handled_ = 0;
};

absl::StatusOr<ExitCode> RunJob(Context* context, const RunOptions& options) {
  auto spec = options.spec.Load();
  if (!spec.ok()) return spec.status();
  if (options.local_slots) {
    const absl::Status fits = FitToSlots(*options.local_slots, &context->console, &*spec);
    if (!fits.ok()) return fits;
  }
  Interrupts interrupts;
  const SignalForwarder forwarder(&interrupts);
  const absl::Status resumed = options.resume.ApplyTo(&*spec, *context);
  if (!resumed.ok()) return resumed;
  NoteDerivedRanks(*spec, &context->console);
  if (!options.local_slots) return Run(context, &interrupts, nullptr).Execute(*spec);
  const auto cluster =
      LocalCluster::Start({LocalCluster::FolderOfThisProgram(), *options.local_slots}, &interrupts);
  if (!cluster.ok()) return cluster.status();
  return Run(context, &interrupts, cluster->get()).Execute(*spec);
}

}  // namespace

void AddRunCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app->add_subcommand("run", "Submit a job and follow it to its end");
  options->spec.AddTo(command);
  options->resume.AddTo(command);
  constexpr uint32_t kMostSlots = 1024;
  command
      ->add_option("--local", options->local_slots,
                   "Run on this machine, on a coordinator and a worker with so many slots that are "
                   "started for this job")
      ->type_name("SLOTS")
      ->check(CLI::Range(1u, kMostSlots));
  command->callback([=] { context->command = [=] { return RunJob(context, *options); }; });
}

}  // namespace tandem::client
