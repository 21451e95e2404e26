// `tandem submit`: queues a job and prints its id, and nothing else, on standard output.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/resume_option.h"
#include "client/spec_options.h"

namespace tandem::client {
namespace {

struct SubmitOptions {
  SpecOptions spec;
  ResumeOption resume;
};

absl::StatusOr<ExitCode> Submit(Context* context, const SubmitOptions& options) {
  auto spec = options.spec.Load();
  if (!spec.ok()) return spec.status();
  const absl::Status resumed = options.resume.ApplyTo(&*spec, *context);
  if (!resumed.ok()) return resumed;
  NoteDerivedRanks(*spec, &context->console);
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  const auto job = (*connection)->Submit(*spec);
  if (!job.ok()) return job.status();
  context->Answer(*job, [&] { return absl::StrCat(job->id(), "\n"); });
  return ExitCode::kSuccess;
}

}  // namespace

void AddSubmitCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<SubmitOptions>();
  CLI::App* command = app->add_subcommand("submit", "Queue a job and print its id");
  options->spec.AddTo(command);
  options->resume.AddTo(command);
  command->callback([=] { context->command = [=] { return Submit(context, *options); }; });
}

}  // namespace tandem::client
