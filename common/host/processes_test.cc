#include "common/host/processes.h"

#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::host {
namespace {

using ::testing::IsEmpty;

std::vector<int64_t> StaleAmong(const std::vector<Process>& processes) {
  std::vector<int64_t> pids;
  for (const v1::StaleProcess& stale : StaleTrainers(processes)) pids.push_back(stale.pid());
  return pids;
}

TEST(ProcessesTest, ThisProcessAndItsParent_AreThere) {
  bool found = false, found_parent = false;
  for (const Process& process : ProcessesOf(getuid())) {
    found = found || (process.pid == getpid() && process.parent == getppid());
    found_parent = found_parent || process.pid == getppid();
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(found_parent);
}

TEST(ProcessesTest, TrainersOfALivingAgent_AreNotStale) {
  EXPECT_THAT(StaleAmong({{1, 0, "init"},
                          {10, 1, "tandem-worker"},
                          {11, 10, "tandem-trainer"},
                          {12, 10, "tandem-command"},
                          {13, 12, "tandem-command"}}),
              IsEmpty());
  EXPECT_THAT(StaleAmong({{1, 0, "tandem-worker"}, {11, 1, "tandem-trainer"}}), IsEmpty())
      << "the agent is the first process of a container";
  EXPECT_THAT(StaleAmong({{1, 0, "init"}, {20, 1, "my-test"}, {21, 20, "tandem-trainer"}}),
              IsEmpty())
      << "somebody else started it";
}

TEST(ProcessesTest, TrainersThatTheFirstProcessHas_AreStale) {
  const std::vector<Process> processes = {{1, 0, "tini"},
                                          {900, 1, "systemd"},
                                          {11, 1, "tandem-trainer"},
                                          {12, 900, "tandem-command"},
                                          {13, 12, "tandem-command"},
                                          {14, 1, "python3"}};
  EXPECT_EQ(StaleAmong(processes), (std::vector<int64_t>{11, 12}));
}

}  // namespace
}  // namespace tandem::host
