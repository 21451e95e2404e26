// Repeats one simulation, or runs many: build/tests/simulate --seed 7 --events 400, build/tests/simulate --seeds 100000.
#include <CLI/CLI.hpp>
#include <iostream>

#include "tests/sim/simulation.h"

namespace tandem::sim {
namespace {

int Main(int argc, char** argv) {
  Simulation::Options options;
  uint64_t seeds = 1;
  int events = 400;
  CLI::App app("The coordinator's decisions under random faults, from a seed.", "simulate");
  app.add_option("--seed", options.seed, "The first seed")->capture_default_str();
  app.add_option("--seeds", seeds, "How many, from the first on")->capture_default_str();
  app.add_option("--events", events, "What happens before all faults end")->capture_default_str();
  app.add_option("--workers", options.workers)->capture_default_str();
  app.add_option("--jobs", options.jobs)->capture_default_str();
  app.add_flag("--agents-live", options.agents_live,
               "Agents are not killed; the test does so for even seeds");
  CLI11_PARSE(app, argc, argv);
  for (uint64_t i = 0; i < seeds; ++i, ++options.seed) {
    Simulation simulation(options);
    for (int event = 0; event < events && simulation.violations().empty(); ++event) {
      simulation.Step();
    }
    simulation.Settle();
    if (simulation.violations().empty()) continue;
    std::cout << "seed " << options.seed << ":\n";
    for (const std::string& violation : simulation.violations()) {
      std::cout << "  " << violation << "\n";
    }
    return 1;
  }
  std::cout << seeds << (seeds == 1 ? " seed: " : " seeds: ") << "everything holds\n";
  return 0;
}

}  // namespace
}  // namespace tandem::sim

int main(int argc, char** argv) { return tandem::sim::Main(argc, argv); }
