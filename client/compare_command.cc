// `tandem compare`: whether two jobs that were trained are the same training.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/verify/compare.h"
#include "client/verify/report_text.h"

namespace tandem::client {
namespace {

struct CompareOptions {
  std::string first, other;
};

absl::StatusOr<verify::RecordedJob> Fetch(Connection* connection, const std::string& beginning) {
  const auto id = connection->Resolve(beginning);
  if (!id.ok()) return id.status();
  auto job = connection->Get(*id);
  if (!job.ok()) return job.status();
  const auto history = connection->History(*id);
  if (!history.ok()) return history.status();
  if (history->samples().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(*id, " has not done a step yet: nothing to compare"));
  }
  return verify::RecordedJob{*std::move(job),
                             {history->samples().begin(), history->samples().end()},
                             {history->evaluations().begin(), history->evaluations().end()}};
}

absl::StatusOr<ExitCode> Compare(Context* context, const CompareOptions& options) {
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  const auto first = Fetch(connection->get(), options.first);
  if (!first.ok()) return first.status();
  const auto other = Fetch(connection->get(), options.other);
  if (!other.ok()) return other.status();
  const v1::Comparison comparison = verify::Compare(*first, *other);
  context->Answer(comparison, [&] { return verify::FormatComparison(comparison); });
  return comparison.verdict() == v1::VERDICT_BIT_EQUAL ? ExitCode::kSuccess : ExitCode::kJobFailed;
}

}  // namespace

void AddCompareCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app->add_subcommand("compare", "Whether two jobs did the same, bit for bit");
  command->add_option("JOB", options->first, "Id of a job, or a beginning that no other has")
      ->required();
  command->add_option("JOB2", options->other, "The other one")->required();
  command->callback([=] { context->command = [=] { return Compare(context, *options); }; });
}

}  // namespace tandem::client
