// `tandem logs`: what the ranks of a job print.
#include <memory>
#include <optional>

#include "client/commands.h"
#include "client/follow_logs.h"
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

// Prints lines as they come; JSON is one document, so it waits for the end.
class LogPrinter {
 public:
  LogPrinter(Console* console, bool with_rank) : console_(*console), with_rank_(with_rank) {}

  // False: nobody reads them.
  bool Print(const v1::StreamLogsResponse& response) {
    std::string text;
    for (const v1::LogLine& line : response.lines()) {
      if (console_.settings().json) *all_.add_lines() = line;
      text += FormatLogLine(line, with_rank_);
    }
    if (!console_.settings().json) console_.Answer(text);
    return !console_.output_closed();
  }
  void End() {
    if (console_.settings().json) console_.AnswerJson(all_);
  }

 private:
  Console& console_;
  const bool with_rank_;
  v1::StreamLogsResponse all_;
};

absl::Status Print(Context* context, Connection* connection, const v1::StreamLogsRequest& request,
                   const FollowOptions& follow) {
  LogPrinter printer(&context->console, !request.has_rank());
  absl::Status read = FollowLogs(
      connection, request, follow, [&](const auto& lines) { return printer.Print(lines); },
      [&](const std::string& trouble) { context->console.Remark(trouble); });
  if (read.ok()) printer.End();
  return read;
}

absl::StatusOr<ExitCode> Logs(Context* context, const LogsOptions& options) {
  Interrupts interrupts;
  const SignalForwarder forwarder(&interrupts);
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  const auto id = (*connection)->Resolve(options.job);
  if (!id.ok()) return id.status();
  FollowOptions follow;
  follow.limits.interrupts = &interrupts;
  const absl::Status printed = Print(context, connection->get(), RequestFor(options, *id), follow);
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
