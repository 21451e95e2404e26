#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/connection.h"
#include "client/console.h"
#include "client/exit_code.h"
#include "client/job_text.h"

namespace tandem::client {

// What every command gets: the options that stand before them all, and where to write.
struct Context {
  Console console{Console::Detect()};
  std::string coordinator = "127.0.0.1:4270";
  // By an option or the environment.
  bool coordinator_is_given = false;
  // The words of the user's program, where the command line has one.
  std::optional<std::vector<std::string>> program;
  // How long a coordinator that is yet to start is waited for.
  absl::Duration retry_for = absl::Seconds(3);
  // The chosen command, ready to run. The error is printed by whoever calls it.
  std::function<absl::StatusOr<ExitCode>()> command;

  absl::StatusOr<std::unique_ptr<Connection>> Connect() const;
  View ViewOfNow() const;

  // Prints the message as JSON if that was asked for, else the text.
  void Answer(const google::protobuf::Message& message, const std::function<std::string()>& text);
};

}  // namespace tandem::client
