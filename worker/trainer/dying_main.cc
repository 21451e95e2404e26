// A trainer that kills itself where TANDEM_DIE_AT says: "PHASE_REDUCE:3" is on entering that phase with
// three steps done. Tests use it to be cut off at
// every place of a step.
#include <csignal>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "worker/trainer/command_line.h"

int main(int argc, char** argv) {
  const char* place = std::getenv("TANDEM_DIE_AT");
  tandem::trainer::Hooks hooks;
  hooks.on_position = [place](tandem::ProgressPage::Position position) {
    const absl::string_view phase = tandem::v1::Phase_Name(position.phase);
    if (place != nullptr && absl::StrCat(phase, ":", position.step) == place) raise(SIGKILL);
  };
  return tandem::trainer::TrainerMain(argc, argv, hooks);
}
