#include <csignal>
#include <cstdlib>

#include "client/app.h"

int main(int argc, char** argv) {
  // A reader that leaves (`| head`) is noticed where it is written to.
  std::signal(SIGPIPE, SIG_IGN);
  // Errors are reported by the calls that have them; gRPC's own lines would come on top.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  return tandem::client::RunApp(argc, argv);
}
