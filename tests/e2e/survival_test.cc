// Whatever dies, hangs or restarts: the job goes on, and its result is that of one that was never disturbed.
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/harness/cluster.h"

namespace tandem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

#ifdef TANDEM_LONG_TESTS
constexpr bool kLong = true;
#define SURVIVAL_TEST(fixture, name) TEST_F(fixture, name##_Long)
#else
constexpr bool kLong = false;
#define SURVIVAL_TEST(fixture, name) TEST_F(fixture, name)
#endif

constexpr uint64_t kSteps = 40;

// Forty steps on 4 logical ranks, saved and measured every ten.
std::string Saved(const std::string& folder, const std::string& lines = "") {
  return DigitsSpec(absl::StrCat("steps: ", kSteps,
                                 "\nlogical_ranks: 4\nevaluate: {holdout: 0.2, every_steps: 10}\n"
                                 "checkpoint: {dir: ",
                                 folder,
                                 "/checkpoints, every_steps: 10}\n"
                                 "restart: {max: 3, backoff: 100ms}\nhang_timeout: 2s\n",
                                 lines));
}

class SurvivalTest : public ::testing::Test {
 protected:
  // Of a job that nothing disturbed.
  struct Result {
    std::string parameters;
    uint64_t receipt;
    friend bool operator==(const Result&, const Result&) = default;
  };
  static Result Of(const v1::Job& job) { return {job.parameter_digest(), job.receipt().digest()}; }

  static const Result& Undisturbed() {
    static const Result result = [] {
      Cluster cluster;
      cluster.StartCoordinator();
      cluster.StartWorker(1);
      const v1::Job job =
          cluster.WaitUntilEnded(cluster.Submit(Saved(cluster.folder(), "workers: 1")));
      EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
      return Of(job);
    }();
    return result;
  }

  void ExpectUndisturbed(Cluster& cluster, const v1::Job& job) {
    ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.DebugString();
    EXPECT_EQ(Of(job), Undisturbed());
    const std::vector<v1::StepSample> history = cluster.History(job.id());
    ASSERT_EQ(history.size(), kSteps);
    for (uint64_t step = 1; step <= kSteps; ++step) EXPECT_EQ(history[step - 1].step(), step);
    EXPECT_THAT(ProcessesWith("TANDEM_JOB_ID=" + job.id()), IsEmpty());
  }

  // A worker whose trainers come to harm once, on rank 1.
  static Cluster::WorkerExtras Dying(const Cluster& cluster, const std::string& place,
                                     const std::string& how, const std::string& rank = "1") {
    return {.flags = {"--trainer", TestBinary("dying-trainer")},
            .environment = {{"TANDEM_DIE_AT", place},
                            {"TANDEM_DIE_HOW", how},
                            {"TANDEM_DIE_RANK", rank},
                            {"TANDEM_DIE_ONCE", cluster.folder() + "/died"}}};
  }

  // One job that comes to this harm; then it may go on with one worker less.
  void Disturb(const std::string& place, const std::string& how, bool resize) {
    SCOPED_TRACE(absl::StrCat(place, " ", how, resize ? " resized" : ""));
    Cluster cluster;
    cluster.StartCoordinator();
    // Only rank 0 saves.
    const bool saves = absl::StartsWith(place, "RENAME") || absl::StartsWith(place, "PHASE_CHECK");
    cluster.StartWorker(2, Dying(cluster, place, how, saves ? "0" : "1"));
    // A phase that may take ten times as long takes ten times as long to be found out.
    const bool is_slow = saves || absl::StartsWith(place, "PHASE_EVAL");
    const std::string id =
        cluster.Submit(Saved(cluster.folder(), is_slow ? "hang_timeout: 500ms" : ""));
    // A survivor that lost its peer may be heard first.
    const v1::Job failed = cluster.WaitFor(id, [](const v1::Job& job) {
      return job.has_cause() && job.cause().code() != v1::CAUSE_CODE_PEER_LOST;
    });
    EXPECT_EQ(failed.cause().code(), how == "kill" ? v1::CAUSE_CODE_RANK_DIED : v1::CAUSE_CODE_HUNG)
        << failed.cause().DebugString();
    EXPECT_EQ(failed.cause().rank(), saves ? 0U : 1U);
    if (resize) {
      EXPECT_EQ(cluster.Tandem({"resize", id, "1"}).exit_code, 0);
    }
    const v1::Job job = cluster.WaitUntilEnded(id);
    ExpectUndisturbed(cluster, job);
    EXPECT_GT(job.attempts_size(), 1);
    EXPECT_GT(job.first_step(), 1U) << "it went on from a checkpoint";
    EXPECT_EQ(job.world_size(), resize ? 1U : 2U);
  }
};

// Every place has a checkpoint before it: at step 10 or 20.
const std::vector<std::string> kPlaces = {
    "PHASE_DATA:17",      "PHASE_FORWARD:17",  "PHASE_BACKWARD:17",   "PHASE_REDUCE:17",
    "PHASE_OPTIMIZER:17", "PHASE_EVALUATE:20", "PHASE_CHECKPOINT:20", "RENAME:20"};
const std::vector<std::string> kHarms = {"kill", "stop", "loop", "sleep"};

SURVIVAL_TEST(SurvivalTest, EachPhaseOfAStep_EachHarm_EndsWithTheUndisturbedResult) {
  for (const std::string& place : kPlaces) {
    for (const std::string& how : kHarms) {
      for (const bool resize : {false, true}) {
        const bool in_short = (how == "kill") == (place != "PHASE_FORWARD:17") && resize;
        if (kLong || in_short) Disturb(place, how, resize);
      }
    }
  }
}

#ifndef TANDEM_LONG_TESTS

// A longer one, saved and measured rarely.
std::string Long(const std::string& folder, uint64_t steps, const std::string& lines = "") {
  return Saved(folder, absl::StrCat("steps: ", steps,
                                    "\nevaluate: {holdout: 0.2}\ncheckpoint: {dir: ", folder,
                                    "/checkpoints, every_steps: 250}\n", lines));
}

TEST_F(SurvivalTest, TrainerKilled_CauseIsThereWithinASecondAndTheNextStepWithinThree) {
  Cluster cluster;
  cluster.StartCoordinator();
  cluster.StartWorker(2);
  const std::string id = cluster.Submit(DigitsSpec(absl::StrCat(
      "steps: 1000000\ncheckpoint: {dir: ", cluster.folder(), "/checkpoints, every_steps: 100}")));
  const v1::Job running = cluster.WaitFor(id, [](const v1::Job& job) { return job.step() > 200; });
  ASSERT_EQ(running.ranks_size(), 2);
  ASSERT_GT(running.ranks(1).pid(), 1);
  kill(static_cast<pid_t>(running.ranks(1).pid()), SIGKILL);
  const absl::Time killed = absl::Now();
  cluster.WaitFor(
      id, [](const v1::Job& job) { return job.has_cause(); }, absl::Seconds(1));
  const absl::Time known = absl::Now();
  const v1::Job again = cluster.WaitFor(
      id, [](const v1::Job& job) { return job.attempt() == 2 && job.first_step() > 0; },
      absl::Seconds(3));
  std::cout << "cause after " << known - killed << ", next step after " << absl::Now() - killed
            << ", pause " << again.attempts(1).pause().ShortDebugString() << std::endl;
  EXPECT_GT(again.first_step(), 200U);
  EXPECT_THAT(cluster.Tandem({"describe", id}).out,
              AllOf(HasSubstr("ATTEMPT"), HasSubstr("was killed by signal 9")));
}

TEST_F(SurvivalTest, HungRank_IsNamedWithWhatItDoesAndItsStacksAreInTheLog) {
  const std::map<std::string, std::string> words = {
      {"stop", "SIGSTOP"}, {"loop", "endless loop"}, {"sleep", "sleeps"}};
  for (const auto& [how, word] : words) {
    SCOPED_TRACE(how);
    Cluster cluster;
    cluster.StartCoordinator();
    cluster.StartWorker(2, Dying(cluster, "PHASE_FORWARD:17", how));
    const std::string id = cluster.Submit(Saved(cluster.folder()));
    // The deadline is two seconds.
    const v1::Job hung = cluster.WaitFor(
        id, [](const v1::Job& job) { return job.has_cause(); }, absl::Seconds(7));
    EXPECT_EQ(hung.cause().code(), v1::CAUSE_CODE_HUNG);
    EXPECT_THAT(hung.cause().message(),
                AllOf(HasSubstr("rank 1 of 2"), HasSubstr("at step 17 (forward)"), HasSubstr(word),
                      HasSubstr("rank 0 waits for it")));
    ExpectUndisturbed(cluster, cluster.WaitUntilEnded(id));
    // Where it is, and where it was called from.
    EXPECT_THAT(
        cluster.Tandem({"logs", id, "--rank", "1"}).out,
        AllOf(HasSubstr("ComeToHarm"), HasSubstr("TrainerMain"), HasSubstr("-- end of stacks --")));
  }
}

TEST_F(SurvivalTest, CoordinatorKilledWhileFiveJobsRun_TheyGoOnAndNoStepIsLost) {
  Cluster cluster;
  cluster.StartCoordinator();
  cluster.StartWorker(5);
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(
        cluster.Submit(DigitsSpec("workers: 1\nlogical_ranks: 2\nsteps: 4000\nrestart: {max: 0}")));
  }
  for (const std::string& id : ids) {
    cluster.WaitFor(id, [](const v1::Job& job) { return job.step() > 10; });
  }
  cluster.KillCoordinator();
  EXPECT_THAT(ProcessesWith("TANDEM_JOB_ID=" + ids[0]), SizeIs(1));
  cluster.StartCoordinator();
  std::string digest;
  for (const std::string& id : ids) {
    const v1::Job job = cluster.WaitUntilEnded(id);
    EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.DebugString();
    EXPECT_EQ(job.attempt(), 1U);
    EXPECT_EQ(cluster.History(id).size(), 4000U);
    if (digest.empty()) digest = job.parameter_digest();
    EXPECT_EQ(job.parameter_digest(), digest);
  }
}

TEST_F(SurvivalTest, AgentKilled_JobGoesOnElsewhere) {
  Cluster cluster;
  cluster.StartCoordinator({"--worker-lease", "1s"});
  // Slow enough to be killed on the way.
  cluster.StartWorker(2);
  const std::string id = cluster.Submit(Long(cluster.folder(), 3000));
  cluster.WaitFor(id, [](const v1::Job& job) { return job.has_checkpoint(); });
  cluster.StartWorker(2);
  cluster.worker(0).Signal(SIGKILL);
  EXPECT_TRUE(
      Eventually(absl::Seconds(5), [&] { return ProcessesWith("TANDEM_JOB_ID=" + id).empty(); }));
  const v1::Job job = cluster.WaitUntilEnded(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.ranks(0).worker(), "worker-1");
  EXPECT_EQ(job.attempts(0).cause().code(), v1::CAUSE_CODE_WORKER_LOST);
  const v1::Job alone =
      cluster.WaitUntilEnded(cluster.Submit(Long(cluster.folder(), 3000, "workers: 1")));
  EXPECT_EQ(Of(job), Of(alone));
}

// A stopped agent is like one behind a broken network: its trainer goes on and nobody hears of it.
TEST_F(SurvivalTest, WorkerSilentForLongerThanItsLease_ItsZombieStopsItselfAndHarmsNothing) {
  Cluster cluster;
  cluster.StartCoordinator({"--worker-lease", "1s"});
  cluster.StartWorker(1);
  const std::string id = cluster.Submit(Long(cluster.folder(), 6000, "workers: 1"));
  cluster.WaitFor(id, [](const v1::Job& job) { return job.has_checkpoint(); });
  cluster.StartWorker(1);
  cluster.worker(0).Signal(SIGSTOP);
  cluster.WaitFor(id,
                  [](const v1::Job& job) { return job.attempt() == 2 && job.first_step() > 0; });
  // The agent is stopped still: the trainer ends because it may not save any more.
  EXPECT_TRUE(Eventually(absl::Seconds(10), [&] {
    const std::vector<pid_t> first = ProcessesWith("TANDEM_ATTEMPT=1");
    for (const pid_t pid : ProcessesWith("TANDEM_JOB_ID=" + id)) {
      if (std::find(first.begin(), first.end(), pid) != first.end()) return false;
    }
    return true;
  }));
  cluster.worker(0).Signal(SIGCONT);
  const v1::Job job = cluster.WaitUntilEnded(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.attempt(), 2U);
  const v1::Job alone =
      cluster.WaitUntilEnded(cluster.Submit(Long(cluster.folder(), 6000, "workers: 1")));
  EXPECT_EQ(Of(job), Of(alone));
}

TEST_F(SurvivalTest, WorkerSilentForLessThanItsLease_NothingHasHappened) {
  Cluster cluster;
  cluster.StartCoordinator({"--worker-lease", "20s"});
  cluster.StartWorker(1);
  const std::string id = cluster.Submit(Long(cluster.folder(), 3000, "workers: 1"));
  cluster.WaitFor(id, [](const v1::Job& job) { return job.step() > 10; });
  cluster.worker(0).Signal(SIGSTOP);
  const uint64_t step = cluster.GetJob(id).step();
  absl::SleepFor(absl::Seconds(1));
  EXPECT_LE(cluster.GetJob(id).step(), step + 100) << "it is not heard of";
  cluster.worker(0).Signal(SIGCONT);
  const v1::Job job = cluster.WaitUntilEnded(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.attempt(), 1U);
  EXPECT_EQ(cluster.History(id).size(), 3000U);
}

TEST_F(SurvivalTest, ResizedAndDrainedOnTheWay_SameResult) {
  Cluster cluster;
  cluster.StartCoordinator();
  cluster.StartWorker(2);
  cluster.StartWorker(2);
  const std::string id = cluster.Submit(Long(cluster.folder(), 4000, "workers: 1"));
  const auto trains = [&](uint32_t attempt, uint32_t workers) {
    return cluster.WaitFor(id, [=](const v1::Job& job) {
      return job.attempt() == attempt && job.world_size() == workers && job.first_step() > 0;
    });
  };
  trains(1, 1);
  ASSERT_EQ(cluster.Tandem({"resize", id, "3"}).exit_code, 0);
  trains(2, 3);
  ASSERT_EQ(cluster.Tandem({"resize", id, "2"}).exit_code, 0);
  const std::string home = trains(3, 2).ranks(0).worker();
  const CommandResult drained = cluster.Tandem({"drain", home, "--wait"});
  EXPECT_EQ(drained.exit_code, 0) << drained.err;
  EXPECT_THAT(drained.out, HasSubstr("drained"));
  const v1::Job elsewhere = trains(4, 2);
  EXPECT_NE(elsewhere.ranks(0).worker(), home);
  EXPECT_THAT(cluster.Tandem({"workers"}).out, HasSubstr("drained"));
  EXPECT_EQ(cluster.Tandem({"drain", home, "--undo"}).exit_code, 0);
  const v1::Job job = cluster.WaitUntilEnded(id);
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.DebugString();
  for (const v1::AttemptStatus& attempt : job.attempts()) {
    std::cout << "attempt " << attempt.number() << " on " << attempt.world_size() << ": pause "
              << attempt.pause().ShortDebugString() << std::endl;
    // No step was done twice.
    if (attempt.number() > 1) {
      EXPECT_EQ(attempt.first_step(),
                job.attempts(static_cast<int>(attempt.number()) - 2).last_step() + 1);
    }
  }
  const v1::Job alone =
      cluster.WaitUntilEnded(cluster.Submit(Long(cluster.folder(), 4000, "workers: 1")));
  EXPECT_EQ(Of(job), Of(alone));
}

TEST_F(SurvivalTest, HigherPriority_TakesTheSlotsAndGivesThemBack) {
  Cluster cluster;
  cluster.StartCoordinator();
  cluster.StartWorker(2);
  const std::string low = cluster.Submit(Long(cluster.folder(), 2000));
  cluster.WaitFor(low, [](const v1::Job& job) { return job.step() > 10; });
  const std::string high = cluster.Submit(DigitsSpec("priority: 1\nsteps: 200"));
  EXPECT_EQ(cluster.WaitUntilEnded(high).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_NE(cluster.GetJob(low).state(), v1::JOB_STATE_SUCCEEDED) << "it made room";
  const v1::Job job = cluster.WaitUntilEnded(low);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.attempts(0).cause().code(), v1::CAUSE_CODE_PREEMPTED);
}

TEST_F(SurvivalTest, DiskOfTheCheckpointsIsFullOrRefusesOrIsSlow_SameResult) {
  for (const auto& [place, how] :
       {std::pair("SYNC", "full"), std::pair("RENAME:20", "refused"), std::pair("SYNC", "slow")}) {
    SCOPED_TRACE(how);
    Cluster cluster;
    cluster.StartCoordinator();
    cluster.StartWorker(2, Dying(cluster, place, how, "0"));
    const v1::Job job = cluster.WaitUntilEnded(cluster.Submit(Saved(cluster.folder())));
    ExpectUndisturbed(cluster, job);
    const bool failed = absl::string_view(how) != "slow";
    EXPECT_EQ(job.attempts_size(), failed ? 2 : 1);
    EXPECT_EQ(job.attempts(0).cause().code(),
              failed ? v1::CAUSE_CODE_RANK_ERROR : v1::CAUSE_CODE_UNSPECIFIED)
        << job.attempts(0).cause().message();
  }
}

TEST_F(SurvivalTest, BadInput_IsNotTriedAgain) {
  Cluster cluster;
  cluster.StartCoordinator();
  cluster.StartWorker(1);
  const v1::Job job = cluster.WaitUntilEnded(
      cluster.Submit(DigitsSpec("workers: 1\ndata: {csv: {path: /nowhere.csv, classes: 10}}")));
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.attempt(), 1U);
}

#endif

}  // namespace
}  // namespace tandem::testing
