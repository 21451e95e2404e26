// A trainer that makes the mistake of seeding dropout by the rank that happens to execute a logical
// rank. Tests use it to see that they would notice.
#include "worker/trainer/command_line.h"

int main(int argc, char** argv) {
  tandem::trainer::Hooks hooks;
  hooks.forward_seed = [](const tandem::trainer::ForwardPass& pass) {
    return tandem::MixKeys(tandem::RandomUse::kForward, pass.job_seed, pass.step,
                           uint64_t{pass.rank.value()});
  };
  return tandem::trainer::TrainerMain(argc, argv, hooks);
}
