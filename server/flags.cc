#include "server/flags.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/duration_flag.h"
#include "common/version.h"

namespace tandem {
namespace {

// $XDG_STATE_HOME/tandem, else ~/.local/state/tandem. Empty where neither is known.
std::string DefaultStateDir() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state != '\0') return absl::StrCat(state, "/tandem");
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : absl::StrCat(home, "/.local/state/tandem");
}

void AddDuration(CLI::App& app, const std::string& name, absl::Duration* value,
                 const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [name, value](const std::string& text) {
           const auto parsed = ParseDurationFlag(name, text);
           if (!parsed.ok()) throw CLI::ValidationError(std::string(parsed.status().message()));
           if (*parsed == absl::ZeroDuration()) {
             throw CLI::ValidationError(absl::StrCat(name, " must be longer than 0"));
           }
           *value = *parsed;
         },
         help)
      ->type_name("DURATION")
      ->default_str(absl::FormatDuration(*value));
}

void AddOptions(CLI::App& app, DaemonOptions* options) {
  app.set_version_flag("--version", absl::StrCat("tandemd ", kVersion));
  app.add_option("--state-dir", options->state_dir,
                 "Journal and logs; made where it does not exist")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--listen", options->listen, "gRPC, for clients and workers; port 0: any free one")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("--http", options->http,
                 "Page, JSON API, /metrics and /healthz; port 0: any free one")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("--port-file", options->port_file, "File to write the chosen addresses to")
      ->type_name("FILE");
  AddDuration(app, "--heartbeat-interval", &options->core.heartbeat_interval,
              "How often workers report where their ranks are");
  AddDuration(app, "--worker-lease", &options->core.worker_lease,
              "A worker silent for this long is lost; longer than --heartbeat-interval");
  AddDuration(app, "--prepare-timeout", &options->core.prepare_timeout,
              "How long ranks may load model and data");
  AddDuration(app, "--pause-timeout", &options->core.pause_timeout,
              "How long ranks may take to save and stop; then they are stopped unsaved");
  AddDuration(app, "--patience", &options->core.scheduler.patience,
              "How long an elastic job waits for more workers than it needs");
  AddDuration(app, "--settle", &options->core.scheduler.settle,
              "How long an elastic job trains before it is paused to grow");
  AddDuration(app, "--starvation-limit", &options->core.scheduler.starvation_limit,
              "A job that has waited longer is passed by no smaller one");
  app.add_option("--keep-jobs", options->core.kept_jobs,
                 "Ended jobs that are kept; of more, the oldest go with their logs")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void CheckTogether(const DaemonOptions& options) {
  if (options.state_dir.empty()) throw CLI::ValidationError("--state-dir must be given: no $HOME");
  if (options.core.worker_lease <= options.core.heartbeat_interval) {
    throw CLI::ValidationError("--worker-lease must be longer than --heartbeat-interval");
  }
}

}  // namespace

ParsedFlags ParseFlags(int argc, const char* const* argv) {
  ParsedFlags flags;
  flags.options.state_dir = DefaultStateDir();
  CLI::App app("Tandem's coordinator.", "tandemd");
  AddOptions(app, &flags.options);
  try {
    app.parse(argc, argv);
    CheckTogether(flags.options);
  } catch (const CLI::Success& asked) {
    flags.exit_code = app.exit(asked);
  } catch (const CLI::Error& mistake) {
    std::cerr << "tandemd: " << mistake.what() << "; see tandemd --help\n";
    flags.exit_code = 2;
  }
  return flags;
}

}  // namespace tandem
