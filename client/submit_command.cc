// `tandem submit`: queues a job and prints its id, and nothing else, on standard output.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/job_options.h"
#include "client/resume_option.h"

namespace tandem::client {
namespace {

struct SubmitOptions {
  JobOptions job;
  ResumeOption resume;
};

// Options that only have a meaning for who waits for the end.
absl::Status CheckNothingIsFollowed(const TorchrunOptions& torchrun) {
  const char* option = nullptr;
  if (torchrun.standalone) option = "--standalone";
  if (!torchrun.log_dir.empty()) option = "--log-dir";
  if (!torchrun.redirects.empty()) option = "--redirects";
  if (!torchrun.tee.empty()) option = "--tee";
  if (option == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      option, ": goes with tandem run, which follows a job; tandem logs has what it prints"));
}

absl::StatusOr<ExitCode> Submit(Context* context, const SubmitOptions& options) {
  if (absl::Status status = CheckNothingIsFollowed(options.job.request.torchrun); !status.ok()) {
    return status;
  }
  auto job = options.job.Load(context->program, SurroundingsOfThisProcess());
  if (!job.ok()) return job.status();
  v1::JobSpec& spec = job->spec;
  const absl::Status resumed = options.resume.ApplyTo(&spec, *context);
  if (!resumed.ok()) return resumed;
  for (const std::string& remark : job->remarks) context->console.Remark(remark);
  NoteDerivedRanks(spec, &context->console);
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  const auto submitted = (*connection)->Submit(spec);
  if (!submitted.ok()) return submitted.status();
  context->Answer(*submitted, [&] { return absl::StrCat(submitted->id(), "\n"); });
  return ExitCode::kSuccess;
}

}  // namespace

void AddSubmitCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<SubmitOptions>();
  CLI::App* command = app->add_subcommand("submit", "Queue a job and print its id");
  options->job.AddTo(command);
  options->resume.AddTo(command);
  command->callback([=] { context->command = [=] { return Submit(context, *options); }; });
}

}  // namespace tandem::client
