#pragma once

namespace tandem::client {

// The whole program `tandem`: reads the command line, runs the command, prints its error if there
// is one, and returns the exit code.
int RunApp(int argc, const char* const* argv);

}  // namespace tandem::client
