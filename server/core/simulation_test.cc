#include "server/core/simulation.h"

#include <map>

#include "gtest/gtest.h"

namespace tandem::core {
namespace {

constexpr uint64_t kSeeds = 300;
constexpr int kSteps = 300;

TEST(Simulation, RandomFaults_InvariantsHoldAndEveryJobEnds) {
  std::map<v1::JobState, int> outcomes;
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Simulation simulation(seed);
    for (int step = 0; step < kSteps && !HasFailure(); ++step) simulation.Step();
    simulation.Settle();
    EXPECT_TRUE(simulation.AllEnded());
    for (const auto& [state, count] : simulation.Outcomes()) outcomes[state] += count;
  }
  // Control: chance has led to every kind of end, and to many of each.
  EXPECT_GT(outcomes[v1::JOB_STATE_SUCCEEDED], 100);
  EXPECT_GT(outcomes[v1::JOB_STATE_FAILED], 100);
  EXPECT_GT(outcomes[v1::JOB_STATE_CANCELLED], 100);
}

TEST(Simulation, SameSeed_GivesTheSameEffects) {
  const auto trace = [](uint64_t seed) {
    Simulation simulation(seed);
    for (int step = 0; step < kSteps; ++step) simulation.Step();
    simulation.Settle();
    return simulation.trace();
  };
  for (uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(trace(seed), trace(seed)) << seed;
  EXPECT_NE(trace(1), trace(2));
}

}  // namespace
}  // namespace tandem::core
