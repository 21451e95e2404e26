#pragma once

#include <string>

#include "CLI/App.hpp"
#include "absl/time/time.h"

namespace tandem::client {

// An option that takes "90s", "1h30m", or a number of seconds, never below zero. `value` outlives the
// command line.
CLI::Option* AddDurationOption(CLI::App* command, const std::string& name, absl::Duration* value,
                               const std::string& help);

}  // namespace tandem::client
