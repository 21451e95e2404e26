// `tandem wait`: returns when a job has ended, with its result as exit code.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/duration_option.h"
#include "client/follow.h"
#include "client/interrupts.h"
#include "client/progress.h"

namespace tandem::client {
namespace {

struct WaitOptions {
  std::string job;
  absl::Duration timeout = absl::InfiniteDuration();
};

absl::StatusOr<ExitCode> Wait(Context* context, const WaitOptions& options) {
  Interrupts interrupts;
  const SignalForwarder forwarder(&interrupts);
  FollowOptions follow;
  follow.limits.interrupts = &interrupts;
  follow.limits.deadline = absl::Now() + options.timeout;
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  const auto id = (*connection)->Resolve(options.job);
  if (!id.ok()) return id.status();
  const SystemClock clock;
  Progress progress(&context->console, &clock);
  const auto job = Follow(
      connection->get(), *id, follow, [&](const v1::Job& state) { progress.Update(state); },
      [&](const std::string& trouble) { progress.Remark(trouble); });
  if (absl::IsDeadlineExceeded(job.status())) {
    progress.Remark(
        absl::StrCat(*id, " has not ended after ", absl::FormatDuration(options.timeout)));
    return ExitCode::kTimedOut;
  }
  if (absl::IsCancelled(job.status())) {
    progress.Leave();
    return StoppedFollowing(*id);
  }
  if (!job.ok()) return job.status();
  progress.Clear();
  context->Answer(*job, [&] { return FormatSummary(*job, context->ViewOfNow()); });
  return ExitCodeOf(job->state());
}

}  // namespace

void AddWaitCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<WaitOptions>();
  CLI::App* command = app->add_subcommand("wait", "Wait for a job to end; exit as it did");
  command->add_option("JOB", options->job, "Id of the job, or a beginning that no other has")
      ->required();
  AddDurationOption(command, "--timeout", &options->timeout,
                    "Stop waiting after this long, with exit code 124");
  command->callback([=] { context->command = [=] { return Wait(context, *options); }; });
}

}  // namespace tandem::client
