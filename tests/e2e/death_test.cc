// Processes that die: the cause is named, nothing is left behind.
#include <signal.h>

#include "absl/time/clock.h"
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

class DeathTest : public ::testing::Test {
 protected:
  DeathTest() {
    cluster_.StartCoordinator();
    cluster_.StartWorker(1);
    cluster_.StartWorker(1);
    Submit();
  }

  void Submit() {
    // Its first failure is its end.
    id_ = cluster_.Submit(DigitsSpec("steps: 1000000\nrestart: {max: 0}"));
    running_ = cluster_.WaitFor(id_, [](const v1::Job& job) { return job.step() > 5; });
  }

  pid_t PidOfRank(uint32_t rank) const {
    for (const v1::RankStatus& status : running_.ranks()) {
      if (status.rank() == rank) return static_cast<pid_t>(status.pid());
    }
    ADD_FAILURE() << "no rank " << rank;
    return -1;
  }

  Cluster cluster_;
  std::string id_;
  v1::Job running_;
};

TEST_F(DeathTest, TrainerKilled_JobFailsNamingRankSignalAndStep_NothingIsLeft) {
  ASSERT_GT(PidOfRank(1), 1);
  kill(PidOfRank(1), SIGKILL);
  const v1::Job job = cluster_.WaitUntilEnded(id_, absl::Seconds(2));
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.cause().code(), v1::CAUSE_CODE_RANK_DIED);
  EXPECT_EQ(job.cause().rank(), 1U);
  EXPECT_EQ(job.cause().signal(), SIGKILL);
  EXPECT_GE(job.cause().step(), 5U);
  EXPECT_THAT(job.cause().message(), HasSubstr("rank 1 was killed by signal 9 at step"));
  EXPECT_THAT(ProcessesWith("TANDEM_JOB_ID=" + id_), IsEmpty());
  EXPECT_EQ(cluster_.Tandem({"wait", id_}).exit_code, 1);
  EXPECT_THAT(cluster_.Tandem({"describe", id_}).out, HasSubstr("signal 9"));
}

// The survivor notices within microseconds, and may be heard before the agent of the dead.
TEST_F(DeathTest, EitherTrainerKilledManyTimes_IsTheCauseAlways) {
  for (int i = 0; i < 12; ++i) {
    const uint32_t victim = i % 2;
    kill(PidOfRank(victim), i % 4 < 2 ? SIGKILL : SIGTERM);
    const v1::Job job = cluster_.WaitUntilEnded(id_);
    EXPECT_EQ(job.cause().code(), v1::CAUSE_CODE_RANK_DIED) << job.cause().DebugString();
    EXPECT_EQ(job.cause().rank(), victim);
    Submit();
  }
}

TEST_F(DeathTest, TrainerAborts_IsTheCauseEvenIfItsPeerComplainsFirst) {
  kill(PidOfRank(0), SIGABRT);
  const v1::Job job = cluster_.WaitUntilEnded(id_);
  EXPECT_EQ(job.cause().rank(), 0U);
  EXPECT_EQ(job.cause().signal(), SIGABRT);
}

TEST_F(DeathTest, AgentKilled_ItsTrainersDieAndTheOtherRankIsStopped) {
  cluster_.worker(0).Signal(SIGKILL);
  EXPECT_TRUE(
      Eventually(absl::Seconds(2), [&] { return ProcessesWith("TANDEM_JOB_ID=" + id_).empty(); }));
  const v1::Job job = cluster_.WaitUntilEnded(id_);
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.cause().code(), v1::CAUSE_CODE_WORKER_LOST);
  EXPECT_THAT(job.cause().message(), HasSubstr("worker-0"));
}

TEST_F(DeathTest, AfterAFailure_TheSlotsServeTheNextJob) {
  kill(PidOfRank(0), SIGKILL);
  cluster_.WaitUntilEnded(id_);
  EXPECT_EQ(cluster_.WaitUntilEnded(cluster_.Submit(DigitsSpec())).state(),
            v1::JOB_STATE_SUCCEEDED);
}

TEST_F(DeathTest, AgentTerminated_LeavesCleanly) {
  cluster_.worker(1).Signal(SIGTERM);
  EXPECT_EQ(cluster_.worker(1).Wait(absl::Seconds(5)), 0);
  const v1::Job job = cluster_.WaitUntilEnded(id_);
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.cause().code(), v1::CAUSE_CODE_WORKER_LOST) << job.cause().DebugString();
  EXPECT_THAT(ProcessesWith("TANDEM_JOB_ID=" + id_), IsEmpty());
}

TEST(RunLocalDeath, ClientKilled_NothingIsLeft) {
  const TemporaryFolder temporary = *TemporaryFolder::Create("tandem-e2e");
  const std::string& folder = temporary.path();
  const std::string mark = "E2E_MARK_" + std::to_string(getpid());
  WriteFile(folder + "/killed.yaml", DigitsSpec("steps: 1000000"));
  Process run(
      {{Binary("tandem"), "run", folder + "/killed.yaml", "--local", "2"}, {{mark, "1"}}, folder});
  ASSERT_TRUE(Eventually(absl::Seconds(20), [&] { return ProcessesWith(mark).size() >= 5; }))
      << run.Stderr();
  kill(run.pid(), SIGKILL);
  run.Wait(absl::Seconds(5));
  EXPECT_TRUE(Eventually(absl::Seconds(5), [&] { return ProcessesWith(mark).empty(); }));
}

TEST(RunLocalDeath, Interrupted_Exits130AndNothingIsLeft) {
  const TemporaryFolder temporary = *TemporaryFolder::Create("tandem-e2e");
  const std::string& folder = temporary.path();
  const std::string mark = "E2E_MARK_INT_" + std::to_string(getpid());
  WriteFile(folder + "/interrupted.yaml", DigitsSpec("steps: 1000000"));
  Process run({{Binary("tandem"), "run", folder + "/interrupted.yaml", "--local", "2"},
               {{mark, "1"}},
               folder});
  ASSERT_TRUE(Eventually(absl::Seconds(20), [&] { return ProcessesWith(mark).size() >= 5; }))
      << run.Stderr();
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(absl::Seconds(10)), 130);
  EXPECT_THAT(ProcessesWith(mark), IsEmpty());
}

}  // namespace
}  // namespace tandem::testing
