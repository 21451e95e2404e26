// `tandem resize`: another number of workers for a job that waits or trains.
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/commands.h"

namespace tandem::client {
namespace {

struct ResizeOptions {
  std::string job;
  std::string workers;
  uint32_t min = 0;
  uint32_t max = 0;
};

// "3", or "1-4".
bool ParseWorkers(ResizeOptions* options) {
  const std::vector<std::string> ends = absl::StrSplit(options->workers, '-');
  return ends.size() <= 2 && absl::SimpleAtoi(ends.front(), &options->min) &&
         absl::SimpleAtoi(ends.back(), &options->max) && options->min > 0 &&
         options->min <= options->max;
}

absl::StatusOr<ExitCode> Resize(Context* context, const ResizeOptions& options) {
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  const auto id = (*connection)->Resolve(options.job);
  if (!id.ok()) return id.status();
  const auto job = (*connection)->Resize(*id, options.min, options.max);
  if (!job.ok()) return job.status();
  context->Answer(*job, [&] { return FormatStatus(*job, context->ViewOfNow()); });
  return ExitCode::kSuccess;
}

}  // namespace

void AddResizeCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<ResizeOptions>();
  CLI::App* command = app->add_subcommand("resize", "Give a job another number of workers");
  command->add_option("JOB", options->job, "Id of the job, or a beginning that no other has")
      ->required();
  command
      ->add_option("WORKERS", options->workers,
                   "How many, or MIN-MAX for as many as there are within that")
      ->type_name("N|MIN-MAX")
      ->required();
  command->callback([=] {
    if (!ParseWorkers(options.get())) {
      throw CLI::ValidationError(
          "WORKERS",
          absl::StrCat("expected a number from 1 on, or MIN-MAX, found ", options->workers));
    }
    context->command = [=] { return Resize(context, *options); };
  });
}

}  // namespace tandem::client
