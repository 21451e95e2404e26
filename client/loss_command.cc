// `tandem loss`: the recorded loss of every step.
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/loss_text.h"

namespace tandem::client {
namespace {

struct LossOptions {
  std::string job;
  bool csv = false;
  bool all = false;
};

// On a terminal a picture and twenty rows; whole in a pipe.
std::string LossText(const Context& context, const LossOptions& options,
                     const v1::GetHistoryResponse& history) {
  constexpr size_t kRowsOnTerminal = 20;
  if (options.csv) return FormatLossCsv(history);
  const Console::Settings& settings = context.console.settings();
  if (!settings.output_is_terminal || options.all) {
    return FormatLossTable(history, std::numeric_limits<int>::max());
  }
  std::vector<double> losses;
  for (const v1::StepSample& sample : history.samples()) {
    if (const auto loss = LossOf(sample)) losses.push_back(*loss);
  }
  const auto width = static_cast<size_t>(settings.columns - 1);
  return absl::StrCat(Sparkline(losses, width), "\n", FormatLossTable(history, kRowsOnTerminal));
}

absl::StatusOr<ExitCode> Loss(Context* context, const LossOptions& options) {
  const auto connection = context->Connect();
  if (!connection.ok()) return connection.status();
  const auto id = (*connection)->Resolve(options.job);
  if (!id.ok()) return id.status();
  const auto history = (*connection)->History(*id);
  if (!history.ok()) return history.status();
  context->Answer(*history, [&] { return LossText(*context, options, *history); });
  return ExitCode::kSuccess;
}

}  // namespace

void AddLossCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<LossOptions>();
  CLI::App* command = app->add_subcommand("loss", "The loss of every step of a job");
  command->add_option("JOB", options->job, "Id of the job, or a beginning that no other has")
      ->required();
  command->add_flag("--csv", options->csv, "Comma-separated, numbers in full");
  command->add_flag("--all", options->all, "Every step, also on a terminal");
  command->callback([=] { context->command = [=] { return Loss(context, *options); }; });
}

}  // namespace tandem::client
