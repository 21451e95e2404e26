#include "client/app.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/commands.h"
#include "client/duration_option.h"
#include "client/help_format.h"
#include "client/program/split_line.h"
#include "client/usage_error.h"
#include "common/version.h"

namespace tandem::client {
namespace {

constexpr const char* kFooter =
    R"(These options may stand before or after the command.

Exit codes:
  0    success; of run and wait: the job succeeded
  1    the job failed or was cancelled; of verify and compare: different;
       of doctor: a problem
  2    wrong command line or specification, or no such job
  3    the coordinator cannot be reached, or cannot do its work
  124  wait --timeout ran out
  130  interrupted

Start here: tandem run examples/digits.yaml --local 2)";

struct GlobalOptions {
  std::string output = "text";
  bool no_color = false;
};

void AddCommands(CLI::App* app, Context* context) {
  AddRunCommand(app, context);
  AddTorchrunCommand(app, context);
  AddSubmitCommand(app, context);
  AddJobCommands(app, context);
  AddResizeCommand(app, context);
  AddWaitCommand(app, context);
  AddLogsCommand(app, context);
  AddLossCommand(app, context);
  AddVerifyCommand(app, context);
  AddCompareCommand(app, context);
  AddExportCommand(app, context);
  AddWorkersCommand(app, context);
  AddDrainCommand(app, context);
  AddDoctorCommand(app, context);
  AddSpecCommands(app, context);
  AddCompletionCommand(app, context);
  AddVersionCommand(app, context);
}

void Describe(CLI::App* app, GlobalOptions* options, Context* context) {
  app->fallthrough();
  app->require_subcommand(1);
  app->formatter(std::make_shared<HelpFormat>());
  app->set_version_flag("--version", absl::StrCat("tandem ", kVersion),
                        "Print the version and exit");
  app->add_option("--coordinator", context->coordinator, "Address of tandemd")
      ->type_name("HOST:PORT")
      ->envname("TANDEM_COORDINATOR")
      ->capture_default_str();
  AddDurationOption(app, "--retry-for", &context->retry_for,
                    "How long to wait for a coordinator that is yet to start")
      ->default_str(absl::FormatDuration(context->retry_for));
  app->add_option("-o,--output", options->output, "text, or json: one document on standard output")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app->add_flag("--no-color", options->no_color, "No colours; so does the variable NO_COLOR");
  AddCommands(app, context);
  // Afterwards, because commands take over the footer that there is when they are added.
  app->footer(kFooter);
}

int Fail(Console* console, absl::string_view message, ExitCode code) {
  console->Remark(absl::StrCat("tandem: ", message));
  return static_cast<int>(code);
}

int RunCommand(Context* context) {
  const absl::StatusOr<ExitCode> result = context->command();
  if (absl::IsCancelled(result.status())) {
    context->console.RemarkAfterInterrupt(result.status().message());
    return static_cast<int>(ExitCode::kInterrupted);
  }
  if (!result.ok()) {
    return Fail(&context->console, result.status().message(), ExitCodeOf(result.status()));
  }
  const absl::Status written = context->console.status();
  if (!written.ok()) return Fail(&context->console, written.message(), ExitCode::kUsage);
  return static_cast<int>(*result);
}

}  // namespace

int RunApp(const std::vector<std::string>& arguments) {
  Context context;
  GlobalOptions options;
  CLI::App app("Trains one job on any number of workers with the same result, bit for bit.",
               "tandem");
  Describe(&app, &options, &context);
  SplitLine line = SplitAtProgram(app, arguments);
  context.program = std::move(line.program);
  try {
    // The parser takes them from the back.
    app.parse(std::vector<std::string>(line.ours.rbegin(), line.ours.rend()));
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::Error& mistake) {
    return Fail(&context.console, DescribeMistake(app, mistake, line.ours), ExitCode::kUsage);
  }
  context.coordinator_is_given = app.get_option("--coordinator")->count() > 0;
  context.console.set_json(options.output == "json");
  if (options.no_color) context.console.forbid_color();
  return RunCommand(&context);
}

}  // namespace tandem::client
