// `tandem drain`: lets the jobs of a worker go on elsewhere, so that it can be stopped.
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/commands.h"
#include "client/interrupts.h"
#include "client/worker_text.h"

namespace tandem::client {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Milliseconds(200);

struct DrainOptions {
  std::string worker;
  bool undo = false;
  bool wait = false;
};

// The worker as it is now; unset where it has gone.
absl::StatusOr<std::optional<v1::Worker>> Look(Connection* connection, const std::string& name) {
  const auto workers = connection->ListWorkers();
  if (!workers.ok()) return workers.status();
  for (const v1::Worker& worker : workers->workers()) {
    if (worker.name() == name) return std::optional(worker);
  }
  return std::optional<v1::Worker>();
}

// Until nothing runs there any more.
absl::Status AwaitDrained(Connection* connection, v1::Worker* worker) {
  Interrupts interrupts;
  const SignalForwarder forwarder(&interrupts);
  while (BusySlots(*worker) > 0) {
    if (interrupts.WaitFor(kBetweenLooks, 0)) {
      return absl::CancelledError(
          absl::StrCat("interrupted; ", worker->name(), " is drained still"));
    }
    const auto now = Look(connection, worker->name());
    if (!now.ok()) return now.status();
    if (!*now) return absl::OkStatus();
    *worker = **now;
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> Drain(Context* context, const DrainOptions& options) {
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  auto worker = (*connection)->Drain(options.worker, options.undo);
  if (!worker.ok()) return worker.status();
  if (options.wait && !options.undo) {
    const absl::Status drained = AwaitDrained(connection->get(), &*worker);
    if (!drained.ok()) return drained;
  }
  context->Answer(
      *worker, [&] { return absl::StrCat(worker->name(), "  ", WorkerStateText(*worker), "\n"); });
  return ExitCode::kSuccess;
}

}  // namespace

void AddDrainCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<DrainOptions>();
  CLI::App* command = app->add_subcommand("drain", "Free a worker: its jobs go on elsewhere");
  command->add_option("WORKER", options->worker, "Name of the worker, as `tandem workers` shows it")
      ->required();
  command->add_flag("--undo", options->undo, "Take it into use again");
  command->add_flag("--wait", options->wait, "Return when nothing runs there any more");
  command->callback([=] { context->command = [=] { return Drain(context, *options); }; });
}

}  // namespace tandem::client
