#include <string>

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

class CoordinatorWorkers : public ::testing::Test, public SmallCluster {
 protected:
  static v1::Register StillRunning(v1::Register registration, const std::string& job,
                                   uint32_t attempt, uint32_t rank, const std::string& slot) {
    v1::RunningRank& running = *registration.add_running();
    running.set_job_id(job);
    running.set_attempt(attempt);
    running.set_rank(rank);
    running.set_slot(slot);
    return registration;
  }
  absl::StatusCode Closed(size_t index = 0) const {
    return All<CloseWorker>().at(index).status.code();
  }
};

TEST_F(CoordinatorWorkers, Connect_NewName_IsRegisteredAndListed) {
  Connect("b", 1);
  const ConnectionId connection = Connect("a", 2);
  const SendToWorker sent = All<SendToWorker>().at(0);
  EXPECT_EQ(sent.connection, connection);
  EXPECT_EQ(FromProto(sent.message.registered().heartbeat_interval()), absl::Milliseconds(250));
  ASSERT_THAT(core().Workers(), SizeIs(2));
  EXPECT_EQ(core().Workers()[0].name(), "a");
  EXPECT_EQ(core().Workers()[0].slots_size(), 2);
  EXPECT_EQ(core().Workers()[0].state(), v1::WORKER_STATE_CONNECTED);
}

TEST_F(CoordinatorWorkers, HostFacts_AreKeptWithTheTimeForAsLongAsTheConnection) {
  Connect("a", 1);
  Connect("b", 1);
  v1::WorkerToCoordinator message;
  message.mutable_heartbeat()->mutable_host_facts()->set_host("gpu-3");
  Pass(absl::Seconds(1));
  const absl::Time heard = clock.Now().wall;
  Say("b", message);
  Pass(absl::Seconds(1));
  Beat("b");
  ASSERT_THAT(core().Hosts(), SizeIs(2));
  EXPECT_EQ(core().Hosts()[0].worker(), "a");
  EXPECT_FALSE(core().Hosts()[0].has_facts());
  EXPECT_EQ(core().Hosts()[1].facts().host(), "gpu-3");
  EXPECT_EQ(FromProto(core().Hosts()[1].heard_at()), heard);
  Disconnect("b");
  ASSERT_THAT(core().Hosts(), SizeIs(1));
  Connect("b", 1);
  ASSERT_THAT(core().Hosts(), SizeIs(2));
  EXPECT_FALSE(core().Hosts()[1].has_facts());
}

TEST_F(CoordinatorWorkers, Connect_Unfit_IsClosedAndNotListed) {
  Connect(Registration("a", 0));
  EXPECT_EQ(Closed(), absl::StatusCode::kInvalidArgument);
  v1::Register other = Registration("a", 1);
  other.set_protocol_version(99);
  Connect(other);
  EXPECT_EQ(Closed(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(core().Workers(), IsEmpty());
}

TEST_F(CoordinatorWorkers, Connect_OtherIncarnationOfAConnectedName_IsRefusedAndHarmsNobody) {
  Connect("a", 1);
  Submit("j");
  const ConnectionId refused = Connect(Registration("a", 1, "second"));
  EXPECT_EQ(Closed(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(All<CloseWorker>().at(0).connection, refused);
  Disconnect("a");  // The refused stream ends.
  EXPECT_THAT(effects, IsEmpty());
  EXPECT_EQ(state("j"), v1::JOB_STATE_PREPARING);
}

TEST_F(CoordinatorWorkers, Connect_SameIncarnationAgain_ReplacesTheConnectionAndItsRanksGoOn) {
  const ConnectionId first = Connect("a", 1);
  Submit("j");
  PrepareAll("j");
  const ConnectionId second = Connect(StillRunning(Registration("a", 1), "j", 1, 0, "cpu:0"));
  EXPECT_EQ(All<CloseWorker>().at(0).connection, first);
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  EXPECT_FALSE(job("j").has_cause());
  EXPECT_THAT(Receivers(To::kRegistered), ElementsAre("a"));
  EXPECT_THAT(Receivers(To::kStartRanks), ElementsAre("a"));
  Apply(WorkerDisconnected{WorkerName("a"), Incarnation("first"), first, "late"});
  EXPECT_THAT(effects, IsEmpty());
  Apply(WorkerDisconnected{WorkerName("a"), Incarnation("first"), second, "now"});
  EXPECT_EQ(core().Workers().at(0).state(), v1::WORKER_STATE_DISCONNECTED);
}

TEST_F(CoordinatorWorkers, Disconnect_IdleWorker_IsForgottenAtOnce) {
  Connect("a", 1);
  Disconnect("a");
  EXPECT_THAT(core().Workers(), IsEmpty());
}

TEST_F(CoordinatorWorkers, Disconnect_BackWithinTheLease_NothingHasHappened) {
  Connect("a", 1);
  Submit("j");
  PrepareAll("j");
  Progress("j", 3);
  const std::string before = job("j").SerializeAsString();
  Disconnect("a");
  Pass(Options{}.worker_lease - absl::Milliseconds(1));
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
  Connect(StillRunning(Registration("a", 1), "j", 1, 0, "cpu:0"));
  EXPECT_THAT(Sent(To::kAbort), IsEmpty());
  EXPECT_EQ(job("j").SerializeAsString(), before);
  // Control: a moment later it would have been lost.
  Disconnect("a");
  Pass(Options{}.worker_lease);
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_WORKER_LOST);
}

TEST_F(CoordinatorWorkers, Disconnect_BeforeItHeardOfItsRanks_IsToldAgain) {
  Connect("a", 1);
  Submit("j");
  Disconnect("a");
  Connect("a", 1);
  ASSERT_THAT(Receivers(To::kPrepareRanks), ElementsAre("a"));
  EXPECT_EQ(Sent(To::kPrepareRanks)[0].second.prepare_ranks().ranks(0).slot(), "cpu:0");
  EXPECT_EQ(core().Workers().at(0).slots(0).job_id(), "j");
}

TEST_F(CoordinatorWorkers, Disconnect_BackWithoutARankThatTrained_ItWasLost) {
  Connect("a", 1);
  Submit("j");
  PrepareAll("j");
  Disconnect("a");
  Connect("a", 1);
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  EXPECT_THAT(job("j").cause().message(), HasSubstr("does not know this rank any more"));
}

TEST_F(CoordinatorWorkers, Disconnect_BackWhileItsAttemptEnds_IsToldToAbort) {
  Connect("a", 1);
  Connect("b", 1);
  Submit("j", 2);
  PrepareAll("j");
  Disconnect("b");
  Kill("j", 0);
  EXPECT_THAT(Receivers(To::kAbort), IsEmpty());
  Connect(StillRunning(Registration("b", 1), "j", 1, 1, "cpu:0"));
  EXPECT_THAT(Receivers(To::kAbort), ElementsAre("b"));
}

TEST_F(CoordinatorWorkers, Disconnect_OtherIncarnationComes_ItsRanksAreLostAtOnce) {
  Connect("a", 1);
  Submit("j");
  PrepareAll("j");
  Disconnect("a");
  Connect(Registration("a", 1, "second"));
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_WORKER_LOST);
  EXPECT_THAT(job("j").cause().message(), HasSubstr("started anew"));
}

TEST_F(CoordinatorWorkers, Message_Repeated_IsAcknowledgedAndIgnored) {
  const ConnectionId connection = Connect("a", 1);
  Submit("j");
  Prepare("j", 0);
  const uint64_t sequence = acknowledged;
  ASSERT_GT(sequence, 0U);
  v1::WorkerToCoordinator kill;
  *kill.mutable_rank_exited() = Exited("j", 0);
  kill.set_sequence(sequence);
  Apply(WorkerMessage{WorkerName("a"), connection, kill});
  EXPECT_THAT(effects, IsEmpty());
  EXPECT_EQ(acknowledged, sequence);
  EXPECT_EQ(state("j"), v1::JOB_STATE_RUNNING);
}

TEST_F(CoordinatorWorkers, Message_OneIsMissing_ConnectionIsClosedAndNothingIsLost) {
  const ConnectionId connection = Connect("a", 1);
  Submit("j");
  v1::WorkerToCoordinator message = PreparedMessage("j", 0, 4444);
  message.set_sequence(2);
  Apply(WorkerMessage{WorkerName("a"), connection, message});
  EXPECT_EQ(Closed(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(acknowledged, 0U);
  EXPECT_EQ(state("j"), v1::JOB_STATE_PREPARING);
}

TEST_F(CoordinatorWorkers, Connect_StillRunningOldRanks_TheyAreAbortedAndTheirSlotsStayBusy) {
  Submit("j", 1);
  v1::Register registration = Registration("a", 2);
  registration = StillRunning(registration, "old", 3, 0, "cpu:0");
  registration = StillRunning(registration, "old", 3, 1, "cpu:1");
  Connect(registration);
  ASSERT_THAT(Sent(To::kAbort), SizeIs(1));
  EXPECT_EQ(Sent(To::kAbort)[0].second.abort().job_id(), "old");
  EXPECT_EQ(Sent(To::kAbort)[0].second.abort().attempt(), 3U);
  EXPECT_EQ(job("j").waiting_reason(), "needs 1 cpu slot, 0 are free of 2");
  v1::WorkerToCoordinator gone;
  gone.mutable_rank_exited()->set_job_id("old");
  gone.mutable_rank_exited()->set_attempt(3);
  gone.mutable_rank_exited()->set_rank(1);
  Say("a", gone);
  EXPECT_EQ(state("j"), v1::JOB_STATE_PREPARING);
  EXPECT_EQ(job("j").ranks(0).slot(), "cpu:1");
}

TEST_F(CoordinatorWorkers, Disconnect_RunningRanks_WorkerLostIsTheCauseAndOthersAreAborted) {
  Connect("a", 1);
  Connect("b", 2);
  Submit("j", 3);
  PrepareAll("j");
  ASSERT_EQ(WorkerOf("j", 0), "b");
  Lose("b");
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_WORKER_LOST);
  EXPECT_EQ(job("j").cause().rank(), 0U);
  EXPECT_THAT(job("j").cause().message(), HasSubstr("nothing was heard of it for 10s"));
  EXPECT_THAT(Receivers(To::kAbort), ElementsAre("a"));
  ExitAborted("j", 2);
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
}

TEST_F(CoordinatorWorkers, Disconnect_LastWorkerOfAnEndingJob_EndsItWithItsFirstCause) {
  Connect("a", 1);
  Connect("b", 1);
  Submit("j", 2);
  PrepareAll("j");
  Kill("j", 0);
  Lose("b");
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_RANK_DIED);
}

TEST_F(CoordinatorWorkers, Lease_SilentWorker_IsLostAndClosed) {
  const ConnectionId silent = Connect("a", 1);
  Submit("j");
  Pass(absl::Seconds(10) - absl::Milliseconds(1));
  EXPECT_THAT(effects, IsEmpty());
  Pass(absl::Milliseconds(1));
  EXPECT_EQ(Closed(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(All<CloseWorker>().at(0).connection, silent);
  EXPECT_EQ(state("j"), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_WORKER_LOST);
}

TEST_F(CoordinatorWorkers, Lease_AnyMessage_RenewsIt) {
  Connect("a", 1);
  Pass(absl::Seconds(9));
  Beat("a");
  Pass(absl::Seconds(9));
  EXPECT_THAT(core().Workers(), SizeIs(1));
}

TEST_F(CoordinatorWorkers, Message_OverAnotherConnection_ChangesNothing) {
  Connect("a", 1);
  Submit("j");
  Apply(WorkerMessage{WorkerName("a"), ConnectionId(99), PreparedMessage("j", 0, 4444)});
  EXPECT_THAT(effects, IsEmpty());
  EXPECT_EQ(state("j"), v1::JOB_STATE_PREPARING);
}

TEST_F(CoordinatorWorkers, Message_RankOfAnotherWorker_ChangesNothing) {
  Connect("a", 1);
  Connect("b", 1);
  Submit("j", 1);
  ASSERT_EQ(WorkerOf("j", 0), "a");
  Say("b", PreparedMessage("j", 0, 4444));
  EXPECT_THAT(effects, IsEmpty());
  v1::WorkerToCoordinator gone;
  *gone.mutable_rank_exited() = Exited("j", 0);
  Say("b", gone);
  EXPECT_THAT(effects, IsEmpty());
  EXPECT_EQ(state("j"), v1::JOB_STATE_PREPARING);
}

TEST_F(CoordinatorWorkers, Message_RankThatDoesNotExist_ChangesNothing) {
  Connect("a", 1);
  Submit("j", 1);
  v1::WorkerToCoordinator message = PreparedMessage("j", 0, 4444);
  message.mutable_rank_prepared()->set_rank(4000000000U);
  Say("a", message);
  EXPECT_THAT(effects, IsEmpty());
}

TEST_F(CoordinatorWorkers, StaleAttempt_PreparedOrPosition_IsAnsweredByAnAbort) {
  Connect("a", 1);
  Submit("j");
  v1::WorkerToCoordinator prepared = PreparedMessage("j", 0, 4444);
  prepared.mutable_rank_prepared()->set_attempt(7);
  Say("a", prepared);
  ASSERT_THAT(Sent(To::kAbort), SizeIs(1));
  EXPECT_EQ(Sent(To::kAbort)[0].second.abort().attempt(), 7U);
  EXPECT_EQ(state("j"), v1::JOB_STATE_PREPARING);

  v1::WorkerToCoordinator beat;
  for (int rank : {0, 1}) {
    v1::RankPosition& position = *beat.mutable_heartbeat()->add_ranks();
    position.set_job_id("unknown");
    position.set_attempt(1);
    position.set_rank(static_cast<uint32_t>(rank));
  }
  Say("a", beat);
  ASSERT_THAT(Sent(To::kAbort), SizeIs(1));  // One an attempt, not one a rank.
  EXPECT_EQ(Sent(To::kAbort)[0].second.abort().job_id(), "unknown");
}

TEST_F(CoordinatorWorkers, StaleAttempt_ReportOrExit_ChangesNoJob) {
  Connect("a", 1);
  Submit("j");
  v1::WorkerToCoordinator report;
  report.mutable_rank_report()->set_job_id("j");
  report.mutable_rank_report()->set_attempt(7);
  report.mutable_rank_report()->mutable_failure()->set_code(v1::CAUSE_CODE_RANK_ERROR);
  Say("a", report);
  EXPECT_THAT(effects, IsEmpty());
  v1::WorkerToCoordinator gone;
  gone.mutable_rank_exited()->set_job_id("j");
  gone.mutable_rank_exited()->set_attempt(7);
  Say("a", gone);
  EXPECT_THAT(effects, IsEmpty());
  EXPECT_EQ(state("j"), v1::JOB_STATE_PREPARING);
}

TEST_F(CoordinatorWorkers, Workers_BusySlot_SaysWhoRunsOnIt) {
  Connect("a", 2);
  Submit("j", 1);
  const v1::Worker worker = core().Workers().at(0);
  EXPECT_EQ(worker.slots(0).job_id(), "j");
  EXPECT_EQ(worker.slots(0).attempt(), 1U);
  EXPECT_EQ(worker.slots(1).job_id(), "");
}

}  // namespace
}  // namespace tandem::core
