// `tandem submit`: queues a job and prints its id, and nothing else, on standard output.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/spec_options.h"

namespace tandem::client {
namespace {

absl::StatusOr<ExitCode> Submit(Context* context, const SpecOptions& options) {
  const auto spec = options.Load();
  if (!spec.ok()) return spec.status();
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
  auto options = std::make_shared<SpecOptions>();
  CLI::App* command = app->add_subcommand("submit", "Queue a job and print its id");
  options->AddTo(command);
  command->callback([=] { context->command = [=] { return Submit(context, *options); }; });
}

}  // namespace tandem::client
