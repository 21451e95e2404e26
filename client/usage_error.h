#pragma once

#include <string>
#include <vector>

#include "CLI/App.hpp"

namespace tandem::client {

// One line about a command line that `app` has refused with `error`: what is not known in it, in the
// order in which it was typed, and what may have been meant.
std::string DescribeMistake(const CLI::App& app, const CLI::Error& error,
                            const std::vector<std::string>& arguments);

}  // namespace tandem::client
