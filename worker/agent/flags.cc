#include "worker/agent/flags.h"

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/duration_flag.h"
#include "common/host_port.h"
#include "common/version.h"
#include "worker/agent/route.h"

namespace tandem::agent {
namespace {

void AddDuration(CLI::App* app, const std::string& name, absl::Duration* value,
                 const std::string& help) {
  app->add_option_function<std::string>(
         name,
         [name, value](const std::string& text) {
           const auto parsed = ParseDurationFlag(name, text);
           if (!parsed.ok()) throw CLI::ValidationError(std::string(parsed.status().message()));
           *value = *parsed;
         },
         help)
      ->type_name("DURATION")
      ->default_str(absl::FormatDuration(*value));
}

void AddSlots(CLI::App* app, std::vector<SlotRequest>* slots) {
  app->add_option_function<std::vector<std::string>>(
         "--slots",
         [slots](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             auto request = ParseSlotRequest(text);
             if (!request.ok()) {
               throw CLI::ValidationError(absl::StrCat("--slots: ", request.status().message()));
             }
             slots->push_back(*std::move(request));
           }
         },
         "Devices to offer, one rank each: cuda:0,1 or cuda:all, or another KIND; cpu:N is N slots "
         "on the CPU; auto is every device that works, else the CPU, a slot for two cores, unless "
         "the "
         "devices cannot be asked for. Required; may be given more than once.")
      ->type_name("SLOTS")
      ->allow_extra_args(false);
}

void Declare(CLI::App* app, Flags* flags) {
  app->add_option("--coordinator", flags->coordinator, "Address of tandemd.")
      ->type_name("HOST:PORT")
      ->envname("TANDEM_COORDINATOR")
      ->capture_default_str();
  AddSlots(app, &flags->slots);
  app->add_option("--name", flags->name, "Unique among workers. [HOSTNAME-XXXXXX]");
  app->add_option(
         "--advertise-address", flags->advertise_address,
         "Where ranks on other hosts reach this one: an IPv4 or IPv6 address, no name. [the local "
         "address towards the coordinator]")
      ->type_name("ADDRESS");
  app->add_option("--trainer", flags->trainer, "The trainer. [tandem-trainer beside this program]")
      ->type_name("PATH");
  app->add_option("--log-dir", flags->log_dir,
                  "Folder for what ranks print. It is kept. [a new one in $TMPDIR, else in /tmp, "
                  "which goes at exit if no rank has run, and is kept otherwise]")
      ->type_name("PATH");
  app->add_option("--log-cap-bytes", flags->log_cap_bytes,
                  "Largest size of one file in the log folder.")
      ->capture_default_str();
  AddDuration(app, "--kill-grace", &flags->kill_grace,
              "How long a trainer that is to stop has from SIGTERM to SIGKILL.");
  AddDuration(
      app, "--exit-when-coordinator-gone", &flags->exit_when_coordinator_gone,
      "Stop all ranks and exit when the coordinator cannot be reached for so long; 0 is never.");
  app->add_flag("--die-with-parent", flags->die_with_parent,
                "Stop as on SIGTERM when the process that started this one dies.");
  app->add_flag("--allow-commands", flags->allow_commands,
                "Also run jobs with a command: any program that who submits a job names, as the "
                "user of this worker.");
  app->add_flag("--host-facts", flags->host_facts, "Print what this host has, as JSON, and exit.")
      ->group("");
  app->set_version_flag("--version", std::string("tandem-worker ") + kVersion);
}

absl::Status CheckCoordinator(const std::string& text) {
  const auto address = ParseHostPort(text);
  if (address.ok() && address->port != 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--coordinator: ", address.ok() ? "nobody listens on port 0" : address.status().message()));
}

absl::Status Check(const Flags& flags) {
  if (flags.slots.empty() && !flags.host_facts) {
    return absl::InvalidArgumentError("--slots is required: auto, cpu:N or cuda:0,1");
  }
  if (!flags.advertise_address.empty() && !IsNumericAddress(flags.advertise_address)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--advertise-address: '", flags.advertise_address, "' is not an IPv4 or IPv6 address"));
  }
  return CheckCoordinator(flags.coordinator);
}

}  // namespace

absl::StatusOr<Flags> ParseFlags(int argc, const char* const* argv) {
  Flags flags;
  CLI::App app(
      "Offers the devices of this host to a Tandem coordinator, and runs trainers on them.",
      "tandem-worker");
  Declare(&app, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    flags.show = app.help();
    return flags;
  } catch (const CLI::CallForVersion&) {
    flags.show = absl::StrCat("tandem-worker ", kVersion, "\n");
    return flags;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  if (absl::Status checked = Check(flags); !checked.ok()) return checked;
  return flags;
}

}  // namespace tandem::agent
