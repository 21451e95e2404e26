// Jobs that are programs of their users: what is different about them.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/small_cluster.h"

namespace tandem::core {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using To = v1::CoordinatorToWorker;

// Job "j" of three ranks: 0 and 1 on worker a, 2 on worker b.
class CommandJob : public ::testing::Test, public SmallCluster {
 protected:
  CommandJob() {
    Connect("a", 2);
    Connect("b", 1);
    spec.mutable_command()->add_argv("train");
    spec.mutable_command()->mutable_stop_grace()->set_seconds(60);
  }
  void Start() {
    Submit("j", 3);
    PrepareAll("j");
  }
  void Die(uint32_t rank, const std::string& exception) {
    v1::RankExited exit = Exited("j", rank);
    exit.set_exit_code(1);
    exit.add_last_lines("Traceback (most recent call last):");
    exit.add_last_lines("  File \"train.py\", line 3");
    exit.add_last_lines(exception);
    Exit(exit);
  }
  void EndAll() {
    for (uint32_t rank : {0, 1, 2}) ExitAborted("j", rank);
  }
  void LoseThePort() {
    BeatThrough(absl::Minutes(1));
    PrepareAll("j");
    Report("j", 0, v1::CAUSE_CODE_PORT_TAKEN);
    EndAll();
    Pass(absl::ZeroDuration());
  }
};

TEST_F(CommandJob, Placed_EachWorkerIsToldWhichOfHowManyItIs) {
  Submit("j", 3);
  const auto sent = Sent(To::kPrepareRanks);
  ASSERT_THAT(sent, SizeIs(2));
  for (const auto& [worker, message] : sent) {
    EXPECT_EQ(message.prepare_ranks().group_rank(), worker == "a" ? 0U : 1U);
    EXPECT_EQ(message.prepare_ranks().group_world_size(), 2U);
  }
}

TEST_F(CommandJob, Started_EachWorkerIsToldWhereLossesAreHeard) {
  Submit("j", 3);
  v1::WorkerToCoordinator prepared = PreparedMessage("j", 0, 4444);
  prepared.mutable_rank_prepared()->mutable_prepared()->set_report_port(5555);
  prepared.mutable_rank_prepared()->mutable_prepared()->set_report_token("secret");
  Say("a", prepared);
  for (uint32_t rank : {1, 2}) Prepare("j", rank);
  const auto sent = Sent(To::kStartRanks);
  ASSERT_THAT(sent, SizeIs(2));
  for (const auto& [worker, message] : sent) {
    EXPECT_EQ(message.start_ranks().start().report_port(), 5555U);
    EXPECT_EQ(message.start_ranks().start().report_token(), "secret");
  }
}

TEST(CommandJobs, NobodyAllowsThem_WaitAndSayForWhat) {
  SmallCluster cluster;
  v1::Register registration = SmallCluster::Registration("a", 4);
  registration.set_allows_commands(false);
  cluster.Connect(registration);
  cluster.spec.mutable_command()->add_argv("train");
  cluster.Submit("j", 3);
  EXPECT_EQ(cluster.state("j"), v1::JOB_STATE_QUEUED);
  EXPECT_THAT(cluster.job("j").waiting_reason(), HasSubstr("--allow-commands"));
}

TEST_F(CommandJob, RankDiesOfAnException_ItIsTheCauseInOneSentence) {
  Start();
  Position("j", 1, 7, v1::PHASE_COMMAND);
  Die(1, "ValueError: no such column");
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_RANK_DIED);
  EXPECT_THAT(job("j").cause().message(),
              AllOf(HasSubstr("rank 1 exited with code 1"), HasSubstr("ValueError: no such")));
  EXPECT_THAT(job("j").cause().last_lines(), SizeIs(3));
}

TEST_F(CommandJob, SurvivorComplainsOfItsPeerFirst_TheDeathOfThatIsTheCause) {
  Start();
  Die(0, "RuntimeError: [gloo/transport/tcp/pair.cc:525] Connection closed by peer [::1]:9");
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_PEER_LOST);
  Die(1, "ValueError: no such column");
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_RANK_DIED);
  EXPECT_EQ(job("j").cause().rank(), 1U);
}

TEST_F(CommandJob, PortIsLost_IsTriedAgainWithoutCountingAsAFailure) {
  Submit("j", 3);
  LoseThePort();
  EXPECT_EQ(job("j").attempt(), 2U);
  LoseThePort();
  EXPECT_EQ(job("j").attempt(), 3U);
  EXPECT_EQ(job("j").failures(), 0U);
  // Whoever never gets one has another problem, and restart.max is 0.
  LoseThePort();
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_PORT_TAKEN);
}

TEST_F(CommandJob, PortThatWasAskedForIsTaken_CountsAsAFailure) {
  spec.mutable_command()->set_master_port(29500);
  Submit("j", 3);
  LoseThePort();
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
}

TEST_F(CommandJob, WithoutHangTimeout_MayTakeAsLongAsItLikes) {
  Start();
  for (uint32_t rank : {0, 1, 2}) Position("j", rank, 1, v1::PHASE_COMMAND);
  BeatThrough(absl::Hours(1));
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
}

TEST_F(CommandJob, RankBehindTheOthersForLongerThanItsHangTimeout_IsNamed) {
  spec.mutable_hang_timeout()->set_seconds(20);
  Start();
  // It was the last to move.
  for (uint32_t rank : {0, 2, 1}) {
    Position("j", rank, rank == 1 ? 1 : 2, v1::PHASE_COMMAND);
    BeatThrough(absl::Seconds(5));
  }
  BeatThrough(absl::Seconds(20));
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_HUNG);
  EXPECT_EQ(job("j").cause().rank(), 1U);
  EXPECT_THAT(job("j").cause().message(), HasSubstr("rank 0, rank 2 wait for it"));
}

TEST_F(CommandJob, RanksThatHangAtOneStep_AreAllSaid) {
  spec.mutable_hang_timeout()->set_seconds(20);
  Start();
  for (uint32_t rank : {0, 1, 2}) Position("j", rank, 1, v1::PHASE_COMMAND);
  BeatThrough(absl::Seconds(30));
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_HUNG);
  EXPECT_THAT(job("j").cause().message(), HasSubstr("no further: rank 1, rank 2"));
}

TEST_F(CommandJob, RankThatHasFinishedAndWaitsForTheOthers_IsNotTakenForHung) {
  spec.mutable_hang_timeout()->set_seconds(20);
  Start();
  for (uint32_t rank : {0, 1, 2}) Position("j", rank, 1, v1::PHASE_COMMAND);
  Position("j", 0, 1, v1::PHASE_DONE);
  for (uint64_t step = 2; step < 10; ++step) {
    for (uint32_t rank : {1, 2}) Position("j", rank, step, v1::PHASE_COMMAND);
    BeatThrough(absl::Seconds(10));
  }
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING) << job("j").cause().message();
}

TEST_F(CommandJob, SurvivorSaysInItsErrorFileThatItsPeerIsGone_IsNotTheCause) {
  Start();
  Report("j", 0, v1::CAUSE_CODE_RANK_ERROR,
         "RuntimeError: [gloo/x.cc:1] Connection closed by peer");
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_PEER_LOST);
  Die(1, "ValueError: no such column");
  EXPECT_EQ(job("j").cause().rank(), 1U);
}

TEST_F(CommandJob, RankThatNeverReported_IsNotTakenForHung) {
  spec.mutable_hang_timeout()->set_seconds(20);
  Start();
  for (uint32_t rank : {0, 1, 2}) Position("j", rank, 0, v1::PHASE_UNSPECIFIED);
  BeatThrough(absl::Minutes(5));
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
}

TEST_F(CommandJob, Cancelled_ItsGraceIsWaitedFor) {
  Start();
  Cancel("j");
  BeatThrough(absl::Seconds(60));
  EXPECT_EQ(state("j"), v1::JOB_STATE_CANCELLING);
  BeatThrough(Options{}.abort_timeout);
  EXPECT_EQ(state("j"), v1::JOB_STATE_CANCELLED);
}

TEST_F(CommandJob, ProgramRuns_ItsProcessIsShown) {
  Start();
  v1::WorkerToCoordinator message;
  v1::RankPosition& position = *message.mutable_heartbeat()->add_ranks();
  position.set_job_id("j");
  position.set_attempt(1);
  position.set_rank(1);
  position.set_pid(4711);
  Say("a", message);
  EXPECT_EQ(job("j").ranks(1).pid(), 4711);
}

}  // namespace
}  // namespace tandem::core
