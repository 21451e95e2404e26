// `tandem list`, `status`, `describe` and `cancel`: one question about jobs, one answer.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/environment_block.h"

namespace tandem::client {
namespace {

absl::StatusOr<ExitCode> List(Context* context, bool only_ids) {
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  const auto jobs = (*connection)->ListJobs();
  if (!jobs.ok()) return jobs.status();
  context->Answer(*jobs, [&] {
    if (!only_ids) return FormatJobList(*jobs, context->ViewOfNow());
    std::string ids;
    for (const v1::Job& job : jobs->jobs()) absl::StrAppend(&ids, job.id(), "\n");
    return ids;
  });
  return ExitCode::kSuccess;
}

// Finds the job that is meant, makes one call about it, and prints what it says.
absl::StatusOr<ExitCode> AboutJob(
    Context* context, const std::string& beginning,
    const std::function<absl::StatusOr<v1::Job>(Connection*, const std::string& id)>& call,
    const std::function<std::string(Connection*, const v1::Job&)>& text) {
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  const auto id = (*connection)->Resolve(beginning);
  if (!id.ok()) return id.status();
  const auto job = call(connection->get(), *id);
  if (!job.ok()) return job.status();
  context->Answer(*job, [&] { return text(connection->get(), *job); });
  return ExitCode::kSuccess;
}

absl::StatusOr<v1::Job> Get(Connection* connection, const std::string& id) {
  return connection->Get(id);
}

// What rank 0 printed about itself; without it, the description is still one.
std::string EnvironmentOf(Connection* connection, const v1::Job& job) {
  v1::StreamLogsRequest request;
  request.set_job_id(job.id());
  request.set_rank(0);
  Interrupts nobody;
  Connection::StreamLimits limits;
  limits.interrupts = &nobody;
  EnvironmentBlock block;
  const absl::Status read = connection->ReadLogs(request, limits, [&](const auto& response) {
    for (const v1::LogLine& line : response.lines()) block.Add(line.text());
    return true;
  });
  return read.ok() && !block.text().empty() ? absl::StrCat("\n", block.text()) : "";
}

CLI::App* AddJobCommand(CLI::App* app, const std::string& name, const std::string& help,
                        std::string* job) {
  CLI::App* command = app->add_subcommand(name, help);
  command->add_option("JOB", *job, "Id of the job, or a beginning that no other has")->required();
  return command;
}

}  // namespace

void AddJobCommands(CLI::App* app, Context* context) {
  auto only_ids = std::make_shared<bool>(false);
  CLI::App* list = app->add_subcommand("list", "All jobs, newest first");
  list->add_flag("--ids", *only_ids, "Print the ids only");
  list->callback([=] { context->command = [=] { return List(context, *only_ids); }; });

  auto job = std::make_shared<std::string>();
  const auto status_text = [context](Connection*, const v1::Job& state) {
    return FormatStatus(state, context->ViewOfNow());
  };
  AddJobCommand(app, "status", "What a job is doing, in short", job.get())->callback([=] {
    context->command = [=] { return AboutJob(context, *job, Get, status_text); };
  });
  AddJobCommand(app, "describe", "Everything about a job", job.get())->callback([=] {
    context->command = [=] {
      return AboutJob(context, *job, Get, [=](Connection* connection, const v1::Job& state) {
        return absl::StrCat(FormatDescription(state, context->ViewOfNow()),
                            EnvironmentOf(connection, state));
      });
    };
  });
  AddJobCommand(app, "cancel", "Ask for a job to end", job.get())->callback([=] {
    context->command = [=] {
      return AboutJob(
          context, *job,
          [](Connection* connection, const std::string& id) { return connection->Cancel(id); },
          status_text);
    };
  });
}

}  // namespace tandem::client
