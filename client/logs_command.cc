// `tandem logs`: what the ranks of a job print.
#include <functional>
#include <memory>
#include <optional>

#include "client/commands.h"
#include "client/follow.h"
#include "client/interrupts.h"
#include "client/log_text.h"
#include "client/outage.h"

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

  // The lines come again from the first: after a new connection those that were printed are passed
  // over. The coordinator keeps them in a file that only grows.
  void Rewind() { passed_ = 0; }
  // False: nobody reads them.
  bool Print(const v1::StreamLogsResponse& response) {
    std::string text;
    for (const v1::LogLine& line : response.lines()) {
      if (passed_++ < printed_) continue;
      ++printed_;
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
  uint64_t printed_ = 0;
  uint64_t passed_ = 0;
  v1::StreamLogsResponse all_;
};

// Until the coordinator that failed so knows the job again. Its stream may have no line for long, which
// would leave open whether it is back.
absl::Status AwaitReturn(Connection* connection, const std::string& job_id, absl::Status failure,
                         Outage* outage) {
  while (absl::IsUnavailable(failure)) {
    absl::Status next = outage->WaitForNextTry(failure);
    if (!next.ok()) return next;
    failure = connection->Get(job_id).status();
  }
  if (failure.ok()) outage->End();
  return failure;
}

// With --follow, also over a coordinator that is away for a while.
absl::Status Print(Context* context, Connection* connection, const v1::StreamLogsRequest& request,
                   const FollowOptions& follow) {
  const std::function<void(const std::string&)> on_trouble = [context](const std::string& trouble) {
    context->console.Remark(trouble);
  };
  Outage outage(follow, connection->address(), on_trouble);
  LogPrinter printer(&context->console, !request.has_rank());
  while (true) {
    printer.Rewind();
    absl::Status read = connection->ReadLogs(
        request, follow.limits, [&](const auto& lines) { return printer.Print(lines); });
    if (read.ok()) printer.End();
    if (!request.follow() || !absl::IsUnavailable(read)) return read;
    absl::Status back = AwaitReturn(connection, request.job_id(), read, &outage);
    if (!back.ok()) return back;
  }
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
