#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "client/app.h"

int main(int argc, char** argv) {
  // A reader that leaves (`| head`) is noticed where it is written to.
  std::signal(SIGPIPE, SIG_IGN);
  // Errors are reported by the calls that have them; gRPC's own lines would come on top.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  // A second name of this program.
  if (absl::EndsWith(argv[0], "tandem-torchrun")) arguments.insert(arguments.begin(), "torchrun");
  return tandem::client::RunApp(arguments);
}
