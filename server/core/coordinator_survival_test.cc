// Attempts that end before the job does: failures, restarts of the coordinator, pauses.
#include "common/proto_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/small_cluster.h"

namespace tandem::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using To = v1::CoordinatorToWorker;

class Survival : public ::testing::Test, public SmallCluster {
 protected:
  Survival() {
    Connect("a", 1);
    Connect("b", 1);
  }

  // May be started again twice, half a second after a failure.
  void SubmitRestartable(const std::string& id, uint32_t workers = 1) {
    spec.mutable_restart()->set_max(2);
    *spec.mutable_restart()->mutable_backoff() = ToProto(absl::Milliseconds(500));
    spec.mutable_checkpoint()->set_dir("/checkpoints");
    spec.set_logical_ranks(4);
    Submit(id, workers);
  }
  void SubmitElastic(const std::string& id, uint32_t min, uint32_t max) {
    spec.set_min_workers(min);
    SubmitRestartable(id, max);
  }
  void Paused(const std::string& id, uint64_t step) {
    for (uint32_t rank = 0; rank < job(id).world_size(); ++rank) {
      v1::WorkerToCoordinator message;
      v1::RankReport& report = *message.mutable_rank_report();
      report.set_job_id(id);
      report.set_attempt(job(id).attempt());
      report.set_rank(rank);
      report.mutable_paused()->set_step(step);
      Say(WorkerOf(id, rank), message);
    }
  }
  void PauseAndExit(const std::string& id, uint64_t step) {
    const int world_size = job(id).ranks_size();
    Paused(id, step);
    for (int rank = 0; rank < world_size; ++rank) ExitCleanly(id, static_cast<uint32_t>(rank));
  }
  // The same agent comes back after a restart of the coordinator, with its ranks of this job.
  void ConnectAgain(const std::string& worker, const std::string& id) {
    v1::Register registration = Registration(worker, 1);
    for (const v1::RankStatus& rank : job(id).ranks()) {
      if (rank.worker() != worker) continue;
      v1::RunningRank& running = *registration.add_running();
      running.set_job_id(id);
      running.set_attempt(job(id).attempt());
      running.set_rank(rank.rank());
      running.set_slot(rank.slot());
    }
    Connect(registration);
  }
  std::vector<v1::CauseCode> Ends(const std::string& id) const {
    std::vector<v1::CauseCode> ends;
    for (const v1::AttemptStatus& attempt : job(id).attempts()) {
      ends.push_back(attempt.cause().code());
    }
    return ends;
  }
};

TEST_F(Survival, AttemptFails_AnotherFollowsAfterTheBackoff) {
  SubmitRestartable("j");
  PrepareAll("j");
  Progress("j", 3);
  Kill("j", 0, 3);
  EXPECT_EQ(state("j"), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job("j").failures(), 1U);
  EXPECT_EQ(FromProto(job("j").restart_at()), clock.Now().wall + absl::Milliseconds(500));
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_RANK_DIED);
  Pass(absl::Milliseconds(499));
  EXPECT_EQ(state("j"), v1::JOB_STATE_QUEUED);
  Pass(absl::Milliseconds(1));
  EXPECT_EQ(state("j"), v1::JOB_STATE_PREPARING);
  EXPECT_EQ(job("j").attempt(), 2U);
  PrepareAll("j");
  clock.Advance(absl::Milliseconds(250));
  Progress("j", 1);
  EXPECT_EQ(All<PauseMeasured>().at(0).duration, absl::Milliseconds(750));
  EXPECT_EQ(FromProto(job("j").attempts(1).pause()), absl::Milliseconds(750));
  Finish("j", 0);
  ExitCleanly("j", 0);
  EXPECT_EQ(state("j"), v1::JOB_STATE_SUCCEEDED);
  EXPECT_FALSE(job("j").has_cause());
  EXPECT_THAT(Ends("j"), ElementsAre(v1::CAUSE_CODE_RANK_DIED, v1::CAUSE_CODE_UNSPECIFIED));
  EXPECT_EQ(job("j").attempts(0).last_step(), 3U);
  EXPECT_TRUE(job("j").attempts(1).has_ended_at());
}

TEST_F(Survival, BackoffDoublesAndTheBudgetEnds) {
  SubmitRestartable("j");
  PrepareAll("j");
  Kill("j", 0);
  Pass(absl::Milliseconds(500));
  Kill("j", 0);
  EXPECT_EQ(FromProto(job("j").restart_at()), clock.Now().wall + absl::Seconds(1));
  Pass(absl::Seconds(1));
  Kill("j", 0);
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job("j").cause().attempt(), 3U);
  EXPECT_THAT(job("j").attempts(), SizeIs(3));
}

TEST_F(Survival, ACheckpointWasWritten_FailuresAreCountedAnew) {
  SubmitRestartable("j");
  for (uint64_t step = 1; step <= 5; ++step) {
    PrepareAll("j");
    Progress("j", 1);
    Save("j", step);
    EXPECT_EQ(job("j").failures(), 0U);
    Kill("j", 0);
    EXPECT_EQ(job("j").failures(), 1U);
    Pass(absl::Milliseconds(500));
    ASSERT_EQ(state("j"), v1::JOB_STATE_PREPARING) << step;
  }
  // Control: with the same checkpoint again it does not get ahead.
  PrepareAll("j");
  Save("j", 5);
  EXPECT_EQ(job("j").failures(), 1U);
}

TEST_F(Survival, CauseThatCannotHeal_IsTheEnd) {
  for (const v1::CauseCode code : {v1::CAUSE_CODE_BAD_INPUT, v1::CAUSE_CODE_DIGEST_MISMATCH}) {
    const std::string id = v1::CauseCode_Name(code);
    SubmitRestartable(id);
    Report(id, 0, code);
    ExitAborted(id, 0);
    EXPECT_EQ(state(id), v1::JOB_STATE_FAILED);
  }
}

TEST_F(Survival, CancelledWhileItWaitsForItsRestart_IsCancelled) {
  SubmitRestartable("j");
  Kill("j", 0);
  Cancel("j");
  EXPECT_EQ(state("j"), v1::JOB_STATE_CANCELLED);
  Pass(absl::Seconds(1));
  EXPECT_EQ(job("j").attempt(), 1U);
}

TEST_F(Survival, RanksGoOnFromDifferentSteps_AttemptFailsAndSaysWhatIsWrong) {
  Submit("j", 2);
  v1::WorkerToCoordinator later = PreparedMessage("j", 0, 4444);
  later.mutable_rank_prepared()->mutable_prepared()->set_steps_done(7);
  Say(WorkerOf("j", 0), later);
  Prepare("j", 1);
  EXPECT_THAT(job("j").cause().message(), HasSubstr("one folder that all workers share"));
  EXPECT_EQ(job("j").cause().rank(), 1U);
}

TEST_F(Survival, CoordinatorRestarted_RunningAttemptGoesOn) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Progress("j", 3);
  Restart();
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  Pass(absl::Seconds(9));
  ConnectAgain("a", "j");
  ConnectAgain("b", "j");
  EXPECT_THAT(Sent(To::kAbort), IsEmpty());
  // It may have been told before that, or not.
  EXPECT_EQ(Sent(To::kStartRanks).at(0).second.start_ranks().start().master_address(), "10.0.0.a");
  BeatThrough(2 * Options{}.worker_lease);
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  for (uint32_t rank : {0, 1}) Finish("j", rank);
  for (uint32_t rank : {0, 1}) ExitCleanly("j", rank);
  EXPECT_EQ(state("j"), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job("j").attempt(), 1U);
}

TEST_F(Survival, CoordinatorRestarted_WorkerDoesNotComeBack_IsLostWithItsRank) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Restart();
  ConnectAgain("a", "j");
  clock.Advance(absl::Seconds(5));
  Beat("a");
  Pass(absl::Seconds(5));
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_WORKER_LOST);
  EXPECT_EQ(job("j").cause().rank(), 1U);
  EXPECT_THAT(Receivers(To::kAbort), ElementsAre("a"));
}

TEST_F(Survival, CoordinatorRestarted_OneRankHadEndedBefore_TheJobEndsWithTheOther) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Finish("j", 0);
  ExitCleanly("j", 0);
  Finish("j", 1);
  Restart();
  ConnectAgain("b", "j");
  ExitCleanly("j", 1);
  EXPECT_EQ(state("j"), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(Survival, CoordinatorRestartedWhileAnAttemptFailed_TheFirstCauseIsKept) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Kill("j", 0, 5);
  Restart();
  ConnectAgain("b", "j");
  EXPECT_THAT(Receivers(To::kAbort), ElementsAre("b"));
  ExitAborted("j", 1);
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_RANK_DIED);
  EXPECT_EQ(job("j").cause().rank(), 0U);
  EXPECT_EQ(job("j").attempts(0).cause().step(), 5U);
}

TEST_F(Survival, CoordinatorRestartedWhileItCancels_RanksAreToldAgain) {
  SubmitRestartable("j");
  PrepareAll("j");
  Cancel("j");
  Restart();
  EXPECT_EQ(state("j"), v1::JOB_STATE_CANCELLING);
  ConnectAgain("a", "j");
  EXPECT_THAT(Receivers(To::kAbort), ElementsAre("a"));
  ExitAborted("j", 0);
  EXPECT_EQ(state("j"), v1::JOB_STATE_CANCELLED);
}

TEST_F(Survival, Resize_RunningJob_IsPausedAndGoesOnWithThatMany) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Progress("j", 4);
  Apply(ResizeRequested{JobId("j"), 1, 1});
  EXPECT_THAT(Receivers(To::kPauseRanks), ElementsAre("a", "b"));
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  PauseAndExit("j", 5);
  EXPECT_EQ(state("j"), v1::JOB_STATE_PREPARING);
  EXPECT_EQ(job("j").world_size(), 1U);
  EXPECT_EQ(job("j").failures(), 0U);
  EXPECT_FALSE(job("j").has_cause());
  EXPECT_EQ(Ends("j").at(0), v1::CAUSE_CODE_RESIZED);
  PrepareAll("j");
  Apply(ResizeRequested{JobId("j"), 2, 2});
  EXPECT_THAT(Receivers(To::kPauseRanks), ElementsAre("a"));
  PauseAndExit("j", 6);
  EXPECT_EQ(job("j").world_size(), 2U);
}

TEST_F(Survival, Resize_ToMoreThanThereIs_TrainsOnUntilThereIsRoom) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Apply(ResizeRequested{JobId("j"), 4, 4});
  EXPECT_THAT(Receivers(To::kPauseRanks), IsEmpty());
  Connect("c", 2);
  EXPECT_THAT(Receivers(To::kPauseRanks), ElementsAre("a", "b"));
}

TEST_F(Survival, CheckResize_SaysWhy) {
  const auto check = [this](const char* id, uint32_t min, uint32_t max) {
    return core().CheckResize(JobId(id), min, max).code();
  };
  SubmitRestartable("j");
  Submit("unsaved");
  EXPECT_EQ(check("none", 1, 1), absl::StatusCode::kNotFound);
  EXPECT_EQ(check("j", 0, 1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(check("j", 2, 1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(check("j", 1, 5), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(check("j", 1, 4), absl::StatusCode::kOk);
  EXPECT_EQ(check("unsaved", 1, 1), absl::StatusCode::kFailedPrecondition);
  Cancel("j");
  ExitAborted("j", 0);
  EXPECT_EQ(check("j", 1, 4), absl::StatusCode::kFailedPrecondition);
}

TEST_F(Survival, Pause_RankDiesMeanwhile_IsAFailure) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Apply(ResizeRequested{JobId("j"), 1, 1});
  Kill("j", 1);
  ExitAborted("j", 0);
  EXPECT_EQ(Ends("j").at(0), v1::CAUSE_CODE_RANK_DIED);
  EXPECT_EQ(job("j").failures(), 1U);
}

TEST_F(Survival, Pause_ItsLastStepWasUnderWay_JobSucceeds) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Apply(ResizeRequested{JobId("j"), 1, 1});
  for (uint32_t rank : {0, 1}) Finish("j", rank);
  for (uint32_t rank : {0, 1}) ExitCleanly("j", rank);
  EXPECT_EQ(state("j"), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(Survival, Pause_TakesTooLong_IsAbortedAndIsNoFailure) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Apply(ResizeRequested{JobId("j"), 1, 1});
  Position("j", 0, 1, v1::PHASE_CHECKPOINT);
  Position("j", 1, 1, v1::PHASE_REDUCE);
  BeatThrough(Options{}.pause_timeout);
  EXPECT_THAT(Receivers(To::kAbort), ElementsAre("a", "b"));
  for (uint32_t rank : {0, 1}) ExitAborted("j", rank);
  EXPECT_EQ(Ends("j").at(0), v1::CAUSE_CODE_RESIZED);
  EXPECT_EQ(job("j").failures(), 0U);
}

TEST_F(Survival, Pause_CoordinatorRestarted_PausesStill) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Apply(ResizeRequested{JobId("j"), 1, 1});
  Restart();
  ConnectAgain("a", "j");
  EXPECT_THAT(Receivers(To::kPauseRanks), ElementsAre("a"));
  ConnectAgain("b", "j");
  PauseAndExit("j", 5);
  EXPECT_EQ(job("j").world_size(), 1U);
}

TEST_F(Survival, Drain_JobWithCheckpoint_GoesOnElsewhere) {
  SubmitRestartable("j");
  PrepareAll("j");
  ASSERT_EQ(WorkerOf("j", 0), "a");
  Apply(DrainRequested{WorkerName("a"), false});
  EXPECT_THAT(All<PersistDrain>(), SizeIs(1));
  EXPECT_THAT(Receivers(To::kPauseRanks), ElementsAre("a"));
  PauseAndExit("j", 5);
  EXPECT_EQ(WorkerOf("j", 0), "b");
  EXPECT_EQ(Ends("j").at(0), v1::CAUSE_CODE_DRAINED);
  Submit("next");
  EXPECT_EQ(state("next"), v1::JOB_STATE_QUEUED);
  Apply(DrainRequested{WorkerName("a"), true});
  EXPECT_EQ(WorkerOf("next", 0), "a");
}

TEST_F(Survival, Drain_JobWithoutCheckpoint_MayFinish) {
  Submit("j");
  PrepareAll("j");
  Apply(DrainRequested{WorkerName("a"), false});
  EXPECT_THAT(Receivers(To::kPauseRanks), IsEmpty());
  EXPECT_THAT(Receivers(To::kAbort), IsEmpty());
}

TEST_F(Survival, Drain_Unknown_IsNotFound) {
  EXPECT_EQ(core().CheckDrain(WorkerName("nobody")).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(core().CheckDrain(WorkerName("a")).ok());
}

// What was acknowledged was heard: only what the agent could not know keeps it in its list.
TEST_F(Survival, ExitWasHeardButItsAcknowledgementLost_SlotIsFree) {
  Submit("done");
  PrepareAll("done");
  Finish("done", 0);
  ASSERT_EQ(WorkerOf("done", 0), "a");
  ExitCleanly("done", 0);
  v1::Register registration = Registration("a", 1);
  v1::RunningRank& exited = *registration.add_running();
  exited.set_job_id("done");
  exited.set_attempt(1);
  Disconnect("a");
  Connect(registration);
  EXPECT_EQ(core().Workers().at(0).slots(0).job_id(), "");
}

TEST_F(Survival, NextRankRunsWhereTheExitOfAnotherIsNotAcknowledged_BothMayBeListed) {
  SubmitRestartable("j");
  PrepareAll("j");
  v1::Register registration = Registration("a", 1);
  v1::RunningRank& exited = *registration.add_running();
  exited.set_job_id("before");
  exited.set_attempt(1);
  v1::RunningRank& runs = *registration.add_running();
  runs.set_job_id("j");
  runs.set_attempt(1);
  runs.set_slot("cpu:0");
  Disconnect("a");
  Connect(registration);
  EXPECT_THAT(All<CloseWorker>(), IsEmpty());
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
}

TEST_F(Survival, FirstRankHasExited_TheJobIsNotPausedAtItsEnd) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  for (uint32_t rank : {0, 1}) Finish("j", rank);
  ExitCleanly("j", 1);
  Pass(absl::Hours(0));
  Apply(ResizeRequested{JobId("j"), 1, 1});
  EXPECT_THAT(Receivers(To::kPauseRanks), IsEmpty());
  ExitCleanly("j", 0);
  EXPECT_EQ(state("j"), v1::JOB_STATE_SUCCEEDED);
  EXPECT_THAT(Ends("j"), ElementsAre(v1::CAUSE_CODE_UNSPECIFIED));
}

TEST_F(Survival, Pause_ItsLastStepWasUnderWay_ItsLastSaveMayTakeItsTime) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Apply(ResizeRequested{JobId("j"), 1, 1});
  Finish("j", 1);
  Position("j", 0, 100, v1::PHASE_CHECKPOINT);
  BeatThrough(Options{}.pause_timeout + absl::Seconds(1));
  EXPECT_THAT(Receivers(To::kAbort), IsEmpty());
  Finish("j", 0);
  for (uint32_t rank : {0, 1}) ExitCleanly("j", rank);
  EXPECT_EQ(state("j"), v1::JOB_STATE_SUCCEEDED);
  EXPECT_THAT(Ends("j"), ElementsAre(v1::CAUSE_CODE_UNSPECIFIED));
}

TEST_F(Survival, WorkerIsLostWithRanksThatHadFinished_JobSucceeds) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  for (uint32_t rank : {0, 1}) Finish("j", rank);
  ExitCleanly("j", 0);
  Lose("b");
  EXPECT_EQ(state("j"), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(Survival, DrainedWhilePreparingAndCoordinatorRestarted_IsQueuedAgainWithoutAFailure) {
  SubmitRestartable("j", 2);
  Prepare("j", 0);
  Apply(DrainRequested{WorkerName("a"), false});
  Restart();
  EXPECT_EQ(state("j"), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job("j").failures(), 0U);
  EXPECT_THAT(Ends("j"), ElementsAre(v1::CAUSE_CODE_DRAINED));
}

TEST_F(Survival, DrainedWhilePreparing_AWorkerThatHasNotHeardOfItsRanksIsNoFailure) {
  SubmitRestartable("j", 2);
  Disconnect("b");
  Apply(DrainRequested{WorkerName("a"), false});
  Connect("b", 1);
  ExitAborted("j", 0);
  EXPECT_THAT(Ends("j"), ElementsAre(v1::CAUSE_CODE_DRAINED));
  EXPECT_EQ(job("j").failures(), 0U);
}

TEST_F(Survival, NothingCouldBeToldForAWhile_NobodyIsBlamed) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  for (uint32_t rank : {0, 1}) Position("j", rank, 3, v1::PHASE_FORWARD);
  clock.Advance(absl::Minutes(5));
  Apply(HeldUp{});
  Apply(TimePassed{});
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  EXPECT_FALSE(job("j").has_cause());
  // Control: without a word they would have been lost.
  clock.Advance(absl::Minutes(5));
  Apply(TimePassed{});
  EXPECT_TRUE(job("j").has_cause());
}

TEST_F(Survival, HigherPriorityComes_LowerOneMakesRoomAndGoesOnAfterwards) {
  SubmitRestartable("low", 2);
  PrepareAll("low");
  spec.set_priority(1);
  Submit("high", 2);
  EXPECT_THAT(Receivers(To::kPauseRanks), ElementsAre("a", "b"));
  EXPECT_THAT(job("high").waiting_reason(), HasSubstr("waits for low to save and make room"));
  PauseAndExit("low", 3);
  EXPECT_EQ(state("high"), v1::JOB_STATE_PREPARING);
  EXPECT_EQ(Ends("low").at(0), v1::CAUSE_CODE_PREEMPTED);
  PrepareAll("high");
  for (uint32_t rank : {0, 1}) Finish("high", rank);
  for (uint32_t rank : {0, 1}) ExitCleanly("high", rank);
  EXPECT_EQ(state("low"), v1::JOB_STATE_PREPARING);
}

TEST_F(Survival, ElasticJob_ShrinksWithALostWorkerAndGrowsWithANewOne) {
  SubmitElastic("j", 1, 4);
  EXPECT_EQ(job("j").world_size(), 2U);
  PrepareAll("j");
  Lose("b");
  ExitAborted("j", 0);
  BeatThrough(absl::Milliseconds(500));
  ASSERT_EQ(state("j"), v1::JOB_STATE_PREPARING);
  EXPECT_EQ(job("j").world_size(), 1U);
  PrepareAll("j");
  Connect("b", 3);
  EXPECT_THAT(Receivers(To::kPauseRanks), IsEmpty());
  BeatThrough(SchedulerPolicy{}.settle);
  EXPECT_EQ(job("j").attempts(1).cause().code(), v1::CAUSE_CODE_RESIZED);
  PauseAndExit("j", 9);
  EXPECT_EQ(job("j").world_size(), 4U);
}

TEST_F(Survival, HungRank_IsNamedAndItsStacksAreAskedFor) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Position("j", 0, 3, v1::PHASE_REDUCE);
  Position("j", 1, 3, v1::PHASE_FORWARD);
  BeatThrough(HangWatch::kDefaultTimeout - absl::Milliseconds(1));
  EXPECT_FALSE(job("j").has_cause());
  BeatThrough(absl::Milliseconds(1));
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_HUNG);
  EXPECT_EQ(job("j").cause().rank(), 1U);
  const auto aborts = Sent(To::kAbort);
  ASSERT_THAT(aborts, SizeIs(2));
  EXPECT_TRUE(aborts[0].second.abort().print_stacks());
}

TEST_F(Survival, HungRank_ItsWorkerIsNotConnected_NobodyIsBlamedYet) {
  SubmitRestartable("j", 2);
  PrepareAll("j");
  Position("j", 0, 3, v1::PHASE_REDUCE);
  Position("j", 1, 3, v1::PHASE_FORWARD);
  BeatThrough(absl::Seconds(25));
  Disconnect("b");
  clock.Advance(absl::Seconds(6));
  Beat("a");
  Pass(absl::ZeroDuration());
  EXPECT_FALSE(job("j").has_cause());
  ConnectAgain("b", "j");
  BeatThrough(absl::Seconds(6));
  EXPECT_FALSE(job("j").has_cause());
}

TEST(Retention, MoreEndedJobsThanAreKept_TheOldestGo) {
  FakeClock clock;
  Coordinator coordinator(Options{.kept_jobs = 2});
  std::vector<std::string> forgotten;
  const auto apply = [&](const Event& event) {
    for (const Effect& effect : coordinator.Apply(event, clock.Now())) {
      if (const auto* forget = std::get_if<ForgetJob>(&effect)) {
        forgotten.push_back(forget->job.value());
      }
    }
  };
  for (const char* id : {"first", "second", "third", "live"}) {
    v1::JobSpec spec;
    spec.set_workers(1);
    apply(JobSubmitted{JobId(id), spec, std::string("request-") + id});
  }
  for (const char* id : {"second", "first", "third"}) apply(CancelRequested{JobId(id)});
  EXPECT_THAT(forgotten, ElementsAre("second"));
  EXPECT_EQ(coordinator.FindJob(JobId("second")), nullptr);
  EXPECT_EQ(coordinator.FindByRequestId("request-second"), nullptr);
  EXPECT_NE(coordinator.FindJob(JobId("live")), nullptr);
}

TEST(Retention, FoundToHaveFailedAtTheRestart_IsForgottenOnce) {
  FakeClock clock;
  v1::JobRecord record;
  record.set_sequence(1);
  v1::Job& job = *record.mutable_job();
  job.set_id("failed");
  job.set_state(v1::JOB_STATE_PREPARING);
  job.set_attempt(1);
  job.add_attempts()->set_number(1);
  job.mutable_cause()->set_code(v1::CAUSE_CODE_BAD_INPUT);
  job.mutable_cause()->set_attempt(1);
  Coordinator coordinator(Options{.kept_jobs = 1});
  coordinator.Restore({record}, {}, clock.Now());
  EXPECT_EQ(coordinator.FindJob(JobId("failed"))->state(), v1::JOB_STATE_FAILED);
  for (const char* id : {"one", "two", "three"}) {
    v1::JobSpec spec;
    spec.set_workers(1);
    coordinator.Apply(JobSubmitted{JobId(id), spec, ""}, clock.Now());
    coordinator.Apply(CancelRequested{JobId(id)}, clock.Now());
  }
  EXPECT_THAT(coordinator.Jobs(), SizeIs(1));
}

}  // namespace
}  // namespace tandem::core
