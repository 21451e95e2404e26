#pragma once

#include <string>

#include "CLI/App.hpp"

namespace tandem::client {

// Scripts that complete commands, options, keys for `explain`, job ids (asked of the coordinator)
// and files. Everything is taken from the command line's own description, so that a new command is
// completed too.
std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);
std::string FishCompletion(const CLI::App& app);

}  // namespace tandem::client
