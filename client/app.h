#pragma once

#include <string>
#include <vector>

namespace tandem::client {

// The whole program `tandem`: reads the command line, runs the command, prints its error if there
// is one, and returns the exit code.
int RunApp(const std::vector<std::string>& arguments);

}  // namespace tandem::client
