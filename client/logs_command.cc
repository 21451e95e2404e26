// `tandem logs`: what the ranks of a job print.
#include <memory>
#include <optional>

#include "client/commands.h"
#include "client/follow.h"
#include "client/interrupts.h"
#include "client/log_text.h"

namespace tandem::client {
namespace {

struct LogsOptions {
  std::string job;
  std::optional<uint32_t> rank;
  bool follow = false;
};

v1::StreamLogsRequest RequestFor(const LogsOptions& options, const std::string& id) {
  v1::StreamLogsRequest request;
  request.set_job_id(id);
  if (options.rank) request.set_rank(*options.rank);
  request.set_follow(options.follow);
  return request;
}

// Lines go out as they come; JSON is one document, so it waits for the end.
absl::Status Print(Context* context, Connection* connection, const v1::StreamLogsRequest& request,
                   const Connection::StreamLimits& limits) {
  Console& console = context->console;
  v1::StreamLogsResponse all;
  absl::Status read = connection->ReadLogs(request, limits, [&](const auto& response) {
    if (console.settings().json) all.MergeFrom(response);
    std::string text;
    for (const v1::LogLine& line : response.lines())
      text += FormatLogLine(line, !request.has_rank());
    if (!console.settings().json) console.Answer(text);
    return !console.output_closed();
  });
  if (console.settings().json && read.ok()) console.AnswerJson(all);
  return read;
}

absl::StatusOr<ExitCode> Logs(Context* context, const LogsOptions& options) {
  Interrupts interrupts;
  const SignalForwarder forwarder(&interrupts);
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  const auto id = (*connection)->Resolve(options.job);
  if (!id.ok()) return id.status();
  Connection::StreamLimits limits;
  limits.interrupts = &interrupts;
  const absl::Status printed = Print(context, connection->get(), RequestFor(options, *id), limits);
  if (options.follow && absl::IsCancelled(printed)) return StoppedFollowing(*id);
  if (!printed.ok()) return printed;
  return ExitCode::kSuccess;
}

}  // namespace

void AddLogsCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<LogsOptions>();
  CLI::App* command = app->add_subcommand("logs", "What the ranks of a job printed");
  command->add_option("JOB", options->job, "Id of the job, or a beginning that no other has")
      ->required();
  command->add_option("--rank", options->rank, "Only this rank, without its number in front");
  command->add_flag("-f,--follow", options->follow, "Go on until the job has ended");
  command->callback([=] { context->command = [=] { return Logs(context, *options); }; });
}

}  // namespace tandem::client
