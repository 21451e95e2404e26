// Random harm to real processes for a while: kills and stops of trainers, agents and the coordinator. Then every job
// has to have succeeded, with the result of one that was never disturbed.
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/job_state.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/harness/cluster.h"

namespace tandem::testing {
namespace {

using ::testing::IsEmpty;

#ifdef TANDEM_LONG_TESTS
constexpr absl::Duration kHarmFor = absl::Minutes(5);
constexpr int kJobs = 30;
#define CHAOS_TEST ChaosLong
#else
constexpr absl::Duration kHarmFor = absl::Seconds(15);
constexpr int kJobs = 4;
#define CHAOS_TEST Chaos
#endif

std::string Spec(const std::string& folder, int variant) {
  // A machine with one core cannot say how often a job is harmed: it may be as often as it takes.
  return DigitsSpec(absl::StrCat(
      "steps: 1500\nlogical_ranks: 4\nworkers: ", variant % 2 == 0 ? "2" : "{min: 1, max: 3}",
      "\nseed: ", variant % 2, "\ncheckpoint: {dir: ", folder, "/checkpoints, every_steps: 100}\n",
      "restart: {max: 1000, backoff: 10ms}\nhang_timeout: 3s"));
}

// What can be harmed, found anew each time.
class Monkey {
 public:
  Monkey(Cluster* cluster, uint64_t seed) : cluster_(*cluster), random_(seed) {}

  void HarmSomething() {
    switch (random_() % 6) {
      case 0:
        return KillCoordinator();
      case 1:
        return KillAgent();
      case 2:
        return Pause(Trainer());
      case 3:
        return Pause(agent().pid());
      default:
        return Send(Trainer(), random_() % 2 == 0 ? SIGKILL : SIGTERM);
    }
  }

  int harms() const { return harms_; }

 private:
  Process& agent() { return cluster_.worker(agent_); }

  pid_t Trainer() {
    const std::vector<pid_t> trainers = ProcessesWith("TANDEM_RANK");
    std::vector<pid_t> own;
    for (const pid_t pid : ProcessesWith("TANDEM_CHAOS=" + std::to_string(getpid()))) {
      if (std::find(trainers.begin(), trainers.end(), pid) != trainers.end()) own.push_back(pid);
    }
    return own.empty() ? 0 : own[random_() % own.size()];
  }

  void Send(pid_t pid, int signal) {
    if (pid <= 1) return;
    ++harms_;
    kill(pid, signal);
  }

  // For longer than a rank may be still, or for less.
  void Pause(pid_t pid) {
    Send(pid, SIGSTOP);
    absl::SleepFor(absl::Milliseconds(random_() % 1500));
    if (pid > 1) kill(pid, SIGCONT);
  }

  void KillCoordinator() {
    ++harms_;
    cluster_.KillCoordinator();
    absl::SleepFor(absl::Milliseconds(random_() % 500));
    cluster_.StartCoordinator(CoordinatorFlags());
  }

  // Another one takes its place under another name, as on a new host.
  void KillAgent() {
    ++harms_;
    agent().Signal(SIGKILL);
    cluster_.StartWorker(3, WorkerExtras());
    ++agent_;
  }

 public:
  static std::vector<std::string> CoordinatorFlags() {
    return {"--worker-lease", "2s", "--settle", "1s"};
  }
  static Cluster::WorkerExtras WorkerExtras() {
    return {.flags = {}, .environment = {{"TANDEM_CHAOS", std::to_string(getpid())}}};
  }

 private:
  Cluster& cluster_;
  std::mt19937_64 random_;
  size_t agent_ = 0;
  int harms_ = 0;
};

TEST(CHAOS_TEST, RandomHarm_EveryJobSucceedsWithTheUndisturbedResult) {
  // What is harmed follows from the seed; when, from the machine.
  const char* given = std::getenv("TANDEM_CHAOS_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                                         : static_cast<uint64_t>(absl::ToUnixNanos(absl::Now()));
  RecordProperty("seed", absl::StrCat(seed));
  Cluster cluster;
  cluster.StartCoordinator(Monkey::CoordinatorFlags());
  cluster.StartWorker(3, Monkey::WorkerExtras());
  std::vector<std::string> undisturbed;
  for (int variant = 0; variant < 2; ++variant) {
    const v1::Job job =
        cluster.WaitUntilEnded(cluster.Submit(Spec(cluster.folder(), variant)), absl::Minutes(2));
    ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
    undisturbed.push_back(job.parameter_digest());
  }
  std::vector<std::string> ids;
  for (int i = 0; i < kJobs; ++i) ids.push_back(cluster.Submit(Spec(cluster.folder(), i)));
  Monkey monkey(&cluster, seed);
  const absl::Time end = absl::Now() + kHarmFor;
  while (absl::Now() < end) {
    absl::SleepFor(absl::Milliseconds(300));
    monkey.HarmSomething();
  }
  uint32_t attempts = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const v1::Job job = cluster.WaitUntilEnded(ids[i], absl::Minutes(3));
    EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << "seed " << seed << "\n" << job.DebugString();
    EXPECT_EQ(job.parameter_digest(), undisturbed[i % 2]) << "seed " << seed;
    attempts += job.attempt();
  }
  for (const std::string& id : ids) EXPECT_THAT(ProcessesWith("TANDEM_JOB_ID=" + id), IsEmpty());
  std::cout << monkey.harms() << " harms, " << attempts << " attempts for " << kJobs << " jobs"
            << std::endl;
  // Control: there was harm, and jobs felt it.
  EXPECT_GT(monkey.harms(), 5);
  EXPECT_GT(attempts, static_cast<uint32_t>(kJobs));
}

}  // namespace
}  // namespace tandem::testing
