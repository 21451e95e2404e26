// `tandem drain`: lets the jobs of a worker go on elsewhere, so that it can be stopped.
#include <functional>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/interrupts.h"
#include "client/outage.h"
#include "client/worker_text.h"

namespace tandem::client {
namespace {

constexpr absl::Duration kBetweenLooks = absl::Milliseconds(200);

struct DrainOptions {
  std::string worker;
  bool undo = false;
  bool wait = false;
};

// The worker as it is now. One that has gone runs nothing: it has no slots.
absl::StatusOr<v1::Worker> Look(Connection* connection, v1::Worker worker) {
  const auto workers = connection->ListWorkers();
  if (!workers.ok()) return workers.status();
  for (const v1::Worker& now : workers->workers()) {
    if (now.name() == worker.name()) return now;
  }
  worker.clear_slots();
  return worker;
}

// Until nothing runs there any more, also over a coordinator that is away for a while.
absl::Status AwaitDrained(Connection* connection, Outage* outage, const Interrupts& interrupts,
                          v1::Worker* worker) {
  while (BusySlots(*worker) > 0) {
    if (interrupts.WaitFor(kBetweenLooks, 0)) return absl::CancelledError("interrupted");
    auto now = Look(connection, *worker);
    if (now.ok()) {
      outage->End();
      *worker = *std::move(now);
      continue;
    }
    if (!absl::IsUnavailable(now.status())) return now.status();
    absl::Status next = outage->WaitForNextTry(now.status());
    if (!next.ok()) return next;
  }
  return absl::OkStatus();
}

absl::Status Wait(Context* context, Connection* connection, Interrupts* interrupts,
                  v1::Worker* worker) {
  const std::function<void(const std::string&)> on_trouble = [context](const std::string& trouble) {
    context->console.Remark(trouble);
  };
  FollowOptions follow;
  follow.limits.interrupts = interrupts;
  Outage outage(follow, connection->address(), on_trouble);
  absl::Status drained = AwaitDrained(connection, &outage, *interrupts, worker);
  if (!absl::IsCancelled(drained)) return drained;
  return absl::CancelledError(absl::StrCat("interrupted; ", worker->name(),
                                           " is being drained still (tandem drain ", worker->name(),
                                           " --undo takes it into use again)"));
}

absl::StatusOr<ExitCode> Drain(Context* context, const DrainOptions& options) {
  Interrupts interrupts;
  std::optional<SignalForwarder> forwarder;
  if (options.wait) forwarder.emplace(&interrupts);
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  auto worker = (*connection)->Drain(options.worker, options.undo);
  if (!worker.ok()) return worker.status();
  if (options.wait) {
    absl::Status drained = Wait(context, connection->get(), &interrupts, &*worker);
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
  CLI::Option* undo = command->add_flag("--undo", options->undo, "Take it into use again");
  command->add_flag("--wait", options->wait, "Return when nothing runs there any more")
      ->excludes(undo);
  command->callback([=] { context->command = [=] { return Drain(context, *options); }; });
}

}  // namespace tandem::client
