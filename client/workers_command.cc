// `tandem workers`: who is there, and what runs on each slot.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/worker_text.h"

namespace tandem::client {
namespace {

std::string NamesOf(const v1::ListWorkersResponse& workers) {
  std::string names;
  for (const v1::Worker& worker : workers.workers()) absl::StrAppend(&names, worker.name(), "\n");
  return names;
}

absl::StatusOr<ExitCode> Workers(Context* context, bool only_names) {
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  const auto workers = (*connection)->ListWorkers();
  if (!workers.ok()) return workers.status();
  context->Answer(*workers, [&] {
    return only_names ? NamesOf(*workers) : FormatWorkers(*workers, context->ViewOfNow());
  });
  return ExitCode::kSuccess;
}

}  // namespace

void AddWorkersCommand(CLI::App* app, Context* context) {
  auto only_names = std::make_shared<bool>(false);
  CLI::App* command = app->add_subcommand("workers", "Workers and what runs on their slots");
  command->add_flag("--names", *only_names, "Print the names only");
  command->callback([=] { context->command = [=] { return Workers(context, *only_names); }; });
}

}  // namespace tandem::client
