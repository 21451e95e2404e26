// `tandem workers`: who is connected, and what runs on each slot.
#include "client/commands.h"
#include "client/worker_text.h"

namespace tandem::client {
namespace {

absl::StatusOr<ExitCode> Workers(Context* context) {
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  const auto workers = (*connection)->ListWorkers();
  if (!workers.ok()) return workers.status();
  context->Answer(*workers, [&] { return FormatWorkers(*workers, context->ViewOfNow()); });
  return ExitCode::kSuccess;
}

}  // namespace

void AddWorkersCommand(CLI::App* app, Context* context) {
  app->add_subcommand("workers", "Connected workers and what runs on their slots")->callback([=] {
    context->command = [=] { return Workers(context); };
  });
}

}  // namespace tandem::client
