#include <csignal>
#include <string>

#include "absl/strings/string_view.h"
#include "common/proto_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/small_cluster.h"

namespace tandem::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using To = v1::CoordinatorToWorker;

// Job "j" of two ranks, rank 0 on worker a and rank 1 on worker b.
class TwoRankCluster : public SmallCluster {
 public:
  TwoRankCluster() {
    Connect("a", 1);
    Connect("b", 1);
    Submit("j", 2);
  }
};

class TwoRanks : public ::testing::Test, public TwoRankCluster {
 protected:
  void Succeed() {
    for (uint32_t rank : {0, 1}) Finish("j", rank);
    for (uint32_t rank : {0, 1}) ExitCleanly("j", rank);
  }
  v1::RankExited ExitOfLeavingAgent(uint32_t rank) const {
    v1::RankExited exit = Exited("j", rank);
    exit.set_signal(SIGTERM);
    exit.set_aborted(true);
    exit.mutable_failure()->set_code(v1::CAUSE_CODE_WORKER_LOST);
    exit.mutable_failure()->set_message("the agent is shutting down");
    return exit;
  }
  v1::CauseCode cause() const { return job("j").cause().code(); }
};

TEST_F(TwoRanks, Placed_EachWorkerIsToldItsOwnRanks) {
  const auto sent = Sent(To::kPrepareRanks);
  ASSERT_THAT(sent, SizeIs(2));
  EXPECT_EQ(sent[1].first, "b");
  const v1::PrepareRanks& prepare = sent[1].second.prepare_ranks();
  EXPECT_EQ(prepare.job_id(), "j");
  EXPECT_EQ(prepare.attempt(), 1U);
  EXPECT_EQ(prepare.world_size(), 2U);
  EXPECT_EQ(prepare.spec().name(), "name-of-j");
  ASSERT_EQ(prepare.ranks_size(), 1);
  EXPECT_EQ(prepare.ranks(0).rank(), 1U);
  EXPECT_EQ(prepare.ranks(0).slot(), "cpu:0");
  EXPECT_THAT(All<AttemptStarted>(), SizeIs(1));
}

TEST_F(TwoRanks, Prepared_LastRank_AllStartAtTheAddressAndPortOfRankZero) {
  Prepare("j", 0, 5555);
  EXPECT_THAT(Sent(To::kStartRanks), IsEmpty());
  EXPECT_EQ(state("j"), v1::JOB_STATE_PREPARING);
  clock.Advance(absl::Milliseconds(300));
  Prepare("j", 1);
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(job("j").master_port(), 5555U);
  EXPECT_EQ(job("j").total_steps(), 100U);
  EXPECT_EQ(job("j").ranks(1).pid(), 1001);
  const auto sent = Sent(To::kStartRanks);
  ASSERT_THAT(sent, SizeIs(2));
  for (const auto& [worker, message] : sent) {
    EXPECT_EQ(message.start_ranks().start().master_address(), "10.0.0.a");
    EXPECT_EQ(message.start_ranks().start().master_port(), 5555U);
    EXPECT_EQ(message.start_ranks().start().attempt(), 1U);
  }
  EXPECT_EQ(All<RendezvousMeasured>().at(0).duration, absl::Milliseconds(300));
}

TEST_F(TwoRanks, Prepared_SameRankTwice_DoesNotStandForTheOther) {
  Prepare("j", 0);
  Prepare("j", 0);
  EXPECT_EQ(state("j"), v1::JOB_STATE_PREPARING);
}

TEST(TwoRankClusters, Prepared_RankZeroWithoutUsablePort_IsARankError) {
  for (const uint32_t port : {0U, 65536U}) {
    TwoRankCluster world;
    world.Prepare("j", 0, port);
    EXPECT_EQ(world.job("j").cause().code(), v1::CAUSE_CODE_RANK_ERROR) << port;
    EXPECT_THAT(world.Receivers(To::kAbort), ElementsAre("a", "b"));
  }
}

TEST_F(TwoRanks, PrepareTimeout_OneRankMissing_IsNamed) {
  Prepare("j", 0);
  BeatThrough(absl::Minutes(5));
  EXPECT_EQ(cause(), v1::CAUSE_CODE_PREPARE_TIMEOUT);
  EXPECT_THAT(job("j").cause().message(), HasSubstr("rank 1 of 2 is missing (worker b)"));
  EXPECT_EQ(job("j").cause().rank(), 1U);
  EXPECT_THAT(Receivers(To::kAbort), ElementsAre("a", "b"));
}

TEST_F(TwoRanks, PrepareTimeout_AMomentEarlier_NothingHappens) {
  BeatThrough(absl::Minutes(5) - absl::Milliseconds(1));
  EXPECT_EQ(state("j"), v1::JOB_STATE_PREPARING);
  EXPECT_FALSE(job("j").has_cause());
}

TEST_F(TwoRanks, PrepareTimeout_ManyRanksMissing_ThreeAreNamed) {
  Connect("c", 8);
  Submit("big", 5);
  BeatThrough(absl::Minutes(5));
  const std::string& message = job("big").cause().message();
  EXPECT_THAT(message, HasSubstr("rank 2 of 5"));
  EXPECT_THAT(message, Not(HasSubstr("rank 3 of 5")));
  EXPECT_THAT(message, HasSubstr("2 more"));
}

TEST_F(TwoRanks, AllFinishedAndExited_Succeeds) {
  PrepareAll("j");
  Finish("j", 0);
  ExitCleanly("j", 0);
  Finish("j", 1);
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  ExitCleanly("j", 1);
  EXPECT_EQ(state("j"), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job("j").parameter_digest(), "digest");
  EXPECT_FALSE(job("j").has_cause());
  EXPECT_EQ(journal.at("j").job().state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(TwoRanks, DigestsDiffer_FailsNamingTheRank) {
  PrepareAll("j");
  Finish("j", 1, "other");
  EXPECT_FALSE(job("j").has_cause());
  Finish("j", 0, "digest");
  EXPECT_EQ(cause(), v1::CAUSE_CODE_DIGEST_MISMATCH);
  EXPECT_EQ(job("j").cause().rank(), 1U);
  ExitCleanly("j", 0);
  ExitCleanly("j", 1);
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job("j").parameter_digest(), "");
}

TEST_F(TwoRanks, RankKilled_JobFailsWhenTheSurvivorIsGoneToo) {
  PrepareAll("j");
  Kill("j", 1, 17);
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(Receivers(To::kAbort), ElementsAre("a"));
  const v1::Cause& cause = job("j").cause();
  EXPECT_EQ(cause.code(), v1::CAUSE_CODE_RANK_DIED);
  EXPECT_EQ(cause.message(), "rank 1 was killed by signal 9 at step 17 (backward)");
  EXPECT_EQ(cause.signal(), 9);
  EXPECT_EQ(cause.step(), 17U);
  EXPECT_EQ(cause.phase(), v1::PHASE_BACKWARD);
  EXPECT_THAT(cause.last_lines(), ElementsAre("last words"));
  ExitAborted("j", 0);
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  EXPECT_EQ(All<AttemptFailed>().at(0).code, v1::CAUSE_CODE_RANK_DIED);
  EXPECT_EQ(job("j").cause().rank(), 1U);
}

TEST_F(TwoRanks, RankExitsWithCode_IsNamedWithStepAndCode) {
  PrepareAll("j");
  v1::RankExited exit = Exited("j", 0);
  exit.set_exit_code(3);
  exit.set_step(5);
  Exit(exit);
  EXPECT_EQ(job("j").cause().message(), "rank 0 exited with code 3 at step 5");
  EXPECT_EQ(job("j").cause().exit_code(), 3);
}

TEST_F(TwoRanks, RankExitsCleanlyWithoutHavingFinished_Died) {
  PrepareAll("j");
  ExitCleanly("j", 1);
  EXPECT_EQ(cause(), v1::CAUSE_CODE_RANK_DIED);
}

TEST_F(TwoRanks, RankFinishedThenCrashed_Died) {
  PrepareAll("j");
  Finish("j", 0);
  Finish("j", 1);
  v1::RankExited exit = Exited("j", 1);
  exit.set_signal(SIGSEGV);
  Exit(exit);
  ExitCleanly("j", 0);
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  EXPECT_EQ(cause(), v1::CAUSE_CODE_RANK_DIED);
}

TEST(TwoRankClusters, RankFinishedThenForcedToEnd_Succeeds) {
  for (const bool aborted : {false, true}) {
    for (const int signal : {SIGTERM, SIGKILL, 0}) {
      if (!aborted && signal == 0) continue;
      TwoRankCluster world;
      world.PrepareAll("j");
      for (uint32_t rank : {0, 1}) world.Finish("j", rank);
      v1::RankExited exit = world.Exited("j", 1);
      exit.set_signal(signal);
      exit.set_exit_code(signal == 0 ? 1 : 0);
      exit.set_aborted(aborted);
      world.Exit(exit);
      world.ExitCleanly("j", 0);
      EXPECT_EQ(world.state("j"), v1::JOB_STATE_SUCCEEDED) << aborted << " " << signal;
    }
  }
}

TEST_F(TwoRanks, AgentLeavesAfterItsRankHadFinished_Succeeds) {
  PrepareAll("j");
  for (uint32_t rank : {0, 1}) Finish("j", rank);
  Exit(ExitOfLeavingAgent(1));
  ExitCleanly("j", 0);
  EXPECT_EQ(state("j"), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(TwoRanks, RankDiesWhilePreparing_JobFails) {
  Kill("j", 0);
  ExitAborted("j", 1);
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  EXPECT_EQ(cause(), v1::CAUSE_CODE_RANK_DIED);
}

TEST_F(TwoRanks, AgentStoppedARankUnasked_WorkerIsLost) {
  PrepareAll("j");
  ExitAborted("j", 1);
  EXPECT_EQ(cause(), v1::CAUSE_CODE_WORKER_LOST);
  EXPECT_THAT(job("j").cause().message(), HasSubstr("worker b"));
}

TEST_F(TwoRanks, AgentLeavesAndSaysSo_WorkerIsLostForThatReason) {
  PrepareAll("j");
  Exit(ExitOfLeavingAgent(1));
  EXPECT_EQ(cause(), v1::CAUSE_CODE_WORKER_LOST);
  EXPECT_EQ(job("j").cause().message(),
            "worker b stopped rank 1 at step 0: the agent is shutting down");
}

TEST_F(TwoRanks, AgentLeavesAndThePeerIsHeardFirst_WorkerIsLost) {
  PrepareAll("j");
  Report("j", 0, v1::CAUSE_CODE_PEER_LOST, "connection closed");
  Exit(ExitOfLeavingAgent(1));
  EXPECT_EQ(cause(), v1::CAUSE_CODE_WORKER_LOST);
}

TEST_F(TwoRanks, RankReportsFailure_ItsExitAddsTheLastLinesOnly) {
  PrepareAll("j");
  Position("j", 1, 9, v1::PHASE_FORWARD);
  Report("j", 1, v1::CAUSE_CODE_RANK_ERROR, "loss is not finite");
  v1::RankExited exit = Exited("j", 1);
  exit.set_exit_code(1);
  exit.add_last_lines("trace");
  Exit(exit);
  EXPECT_EQ(job("j").cause().message(), "rank 1: loss is not finite");
  EXPECT_EQ(job("j").cause().step(), 9U);
  EXPECT_EQ(job("j").cause().phase(), v1::PHASE_FORWARD);
  EXPECT_THAT(job("j").cause().last_lines(), ElementsAre("trace"));
}

TEST_F(TwoRanks, BadInput_MessageIsTheRanksOwn) {
  Report("j", 0, v1::CAUSE_CODE_BAD_INPUT, "digits.csv:7: label 12 is not below 10");
  EXPECT_EQ(cause(), v1::CAUSE_CODE_BAD_INPUT);
  EXPECT_EQ(job("j").cause().message(), "digits.csv:7: label 12 is not below 10");
}

TEST_F(TwoRanks, RanksThatDisagree_AreNoErrorOfOneRank) {
  Report("j", 0, v1::CAUSE_CODE_DIGEST_MISMATCH, "'w' of rank 1 is not the same as that of rank 0");
  EXPECT_EQ(cause(), v1::CAUSE_CODE_DIGEST_MISMATCH);
  EXPECT_EQ(job("j").cause().message(), "'w' of rank 1 is not the same as that of rank 0");
}

TEST_F(TwoRanks, RankReportsACodeThatIsNotItsOwn_CountsAsRankError) {
  Report("j", 0, v1::CAUSE_CODE_WORKER_LOST);
  EXPECT_EQ(cause(), v1::CAUSE_CODE_RANK_ERROR);
}

TEST_F(TwoRanks, ProcessCouldNotBeStarted_FailureOfTheExitIsTheCause) {
  v1::RankExited exit = Exited("j", 0);
  exit.set_exit_code(127);
  exit.mutable_failure()->set_code(v1::CAUSE_CODE_RANK_ERROR);
  exit.mutable_failure()->set_message("no such program");
  Exit(exit);
  EXPECT_EQ(cause(), v1::CAUSE_CODE_RANK_ERROR);
  EXPECT_THAT(job("j").cause().message(), HasSubstr("no such program"));
}

TEST_F(TwoRanks, SurvivorReportsPeerLostFirst_KillIsTheCause) {
  PrepareAll("j");
  Report("j", 0, v1::CAUSE_CODE_PEER_LOST, "connection closed");
  EXPECT_EQ(cause(), v1::CAUSE_CODE_PEER_LOST);
  v1::RankExited survivor = Exited("j", 0);
  survivor.set_exit_code(1);
  Exit(survivor);
  EXPECT_EQ(cause(), v1::CAUSE_CODE_PEER_LOST);
  Kill("j", 1, 4);
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  EXPECT_EQ(cause(), v1::CAUSE_CODE_RANK_DIED);
  EXPECT_EQ(All<AttemptFailed>().at(0).code, v1::CAUSE_CODE_RANK_DIED);
}

TEST_F(TwoRanks, OnlyPeerLostEverCame_ItIsKept) {
  PrepareAll("j");
  Report("j", 0, v1::CAUSE_CODE_PEER_LOST);
  ExitAborted("j", 1);
  ExitAborted("j", 0);
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  EXPECT_EQ(cause(), v1::CAUSE_CODE_PEER_LOST);
}

TEST_F(TwoRanks, AbortTimeout_UnresponsiveWorker_JobEndsButItsSlotStaysBusyUntilTheExit) {
  PrepareAll("j");
  Kill("j", 1);
  BeatThrough(absl::Seconds(10) - absl::Milliseconds(1));
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  BeatThrough(absl::Milliseconds(1));
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  Submit("next", 2);
  EXPECT_EQ(state("next"), v1::JOB_STATE_QUEUED);
  ExitAborted("j", 0);
  EXPECT_EQ(state("next"), v1::JOB_STATE_PREPARING);
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
}

TEST_F(TwoRanks, Progress_OfRankZero_IsShownRecordedAndCounted) {
  PrepareAll("j");
  clock.Advance(absl::Seconds(1));
  Progress("j", 3);
  EXPECT_EQ(job("j").step(), 3U);
  EXPECT_EQ(job("j").loss(), 2.0);
  EXPECT_EQ(All<RecordHistory>().at(0).progress.samples_size(), 3);
  EXPECT_EQ(All<StepsDone>().at(0).steps, 3U);
  EXPECT_EQ(All<StepsDone>().at(0).samples, 96U);
  EXPECT_THAT(All<PersistJob>(), IsEmpty());
  EXPECT_THAT(All<JobChanged>(), SizeIs(1));
}

TEST_F(TwoRanks, Progress_Checkpoint_IsToBeOnDiskBeforeItIsShown) {
  PrepareAll("j");
  Save("j", 3);
  EXPECT_EQ(job("j").checkpoint().step(), 3U);
  EXPECT_EQ(All<PersistJob>().at(0).record.job().checkpoint().step(), 3U);
  EXPECT_THAT(All<JobChanged>(), SizeIs(1));
  Save("j", 3);
  EXPECT_THAT(All<PersistJob>(), IsEmpty());
  Restart();
  EXPECT_EQ(job("j").checkpoint().step(), 3U);
}

TEST_F(TwoRanks, Progress_OfAnotherRankOrBeforeTheStart_ChangesNothing) {
  Progress("j", 3);
  EXPECT_THAT(effects, IsEmpty());
  PrepareAll("j");
  Progress("j", 3, /*rank=*/1);
  EXPECT_THAT(effects, IsEmpty());
  EXPECT_EQ(job("j").step(), 0U);
}

TEST_F(TwoRanks, Position_Repeated_ChangesOnce) {
  Position("j", 1, 5, v1::PHASE_REDUCE);
  EXPECT_THAT(All<JobChanged>(), SizeIs(1));
  EXPECT_EQ(job("j").ranks(1).step(), 5U);
  EXPECT_EQ(job("j").ranks(1).phase(), v1::PHASE_REDUCE);
  Position("j", 1, 5, v1::PHASE_REDUCE);
  EXPECT_THAT(effects, IsEmpty());
}

TEST_F(TwoRanks, Succeeded_SlotsGoToTheNextJob) {
  Submit("next", 2);
  PrepareAll("j");
  Succeed();
  EXPECT_EQ(state("next"), v1::JOB_STATE_PREPARING);
}

TEST_F(TwoRanks, OneRankGone_ItsSlotIsFreeForAnotherJobAlready) {
  Submit("next", 1);
  PrepareAll("j");
  Kill("j", 1);
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(state("next"), v1::JOB_STATE_PREPARING);
  EXPECT_EQ(WorkerOf("next", 0), "b");
}

}  // namespace
}  // namespace tandem::core
