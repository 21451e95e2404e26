#pragma once

#include <optional>
#include <string>
#include <vector>

#include "CLI/App.hpp"

namespace tandem::client {

// A command line, cut where a program of the user's begins: nothing in that is an option of ours.
struct SplitLine {
  std::vector<std::string> ours;
  // Unset where the command takes none, or none was given.
  std::optional<std::vector<std::string>> program;
};

// Whether a program may stand behind -- of this command.
bool TakesProgram(const std::string& command);

// Behind the first -- of the commands that run a program; of `torchrun`, the first word that is
// neither an option nor the value of one.
SplitLine SplitAtProgram(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace tandem::client
