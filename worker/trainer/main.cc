// tandem-trainer: one rank of one attempt, started by tandem-worker.
#include <cstdlib>

#include "worker/trainer/command_line.h"

int main(int argc, char** argv) {
  const int exit_code = tandem::trainer::TrainerMain(argc, argv, tandem::trainer::Hooks());
  // Everything is flushed and closed. LibTorch's static destructors would take their time to
  // unregister thousands of operators, while the slot waits for the next job.
  std::_Exit(exit_code);
}
