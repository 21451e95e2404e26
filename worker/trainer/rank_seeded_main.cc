// A trainer that makes the mistake of seeding dropout by the rank that happens to execute a logical
// rank. Tests use it to see that they would notice.
#include "worker/trainer/command_line.h"

int main(int argc, char** argv) {
  const auto seed_by_rank = [](const tandem::trainer::ForwardPass& pass) {
    return tandem::MixKeys(tandem::RandomUse::kForward, pass.job_seed, pass.step,
                           uint64_t{pass.rank.value()});
  };
  return tandem::trainer::TrainerMain(argc, argv, seed_by_rank);
}
