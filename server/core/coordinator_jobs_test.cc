#include <algorithm>
#include <string>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/small_cluster.h"

namespace tandem::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using To = v1::CoordinatorToWorker;

class CoordinatorJobs : public ::testing::Test, public SmallCluster {
 protected:
  std::vector<v1::JobState> PersistedStates() const {
    std::vector<v1::JobState> states;
    for (const PersistJob& persist : All<PersistJob>())
      states.push_back(persist.record.job().state());
    return states;
  }
  static v1::JobSpec Spec(uint32_t workers) {
    v1::JobSpec spec;
    spec.set_workers(workers);
    spec.set_logical_ranks(workers);
    return spec;
  }
};

TEST_F(CoordinatorJobs, Submit_NoWorker_IsPersistedAndWaits) {
  Submit("j", 2);
  EXPECT_THAT(PersistedStates(), ElementsAre(v1::JOB_STATE_QUEUED));
  EXPECT_EQ(state("j"), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job("j").name(), "name-of-j");
  EXPECT_EQ(job("j").waiting_reason(), "needs 2 slots but no worker is connected");
  EXPECT_THAT(All<JobChanged>(), SizeIs(2)) << "it is there, and it waits";
}

TEST_F(CoordinatorJobs, Submit_SlotsFree_IsOnDiskBeforeAnyWorkerHearsOfIt) {
  Connect("a", 1);
  Submit("j");
  EXPECT_THAT(PersistedStates(), ElementsAre(v1::JOB_STATE_QUEUED, v1::JOB_STATE_PREPARING));
  const auto is_sent = [](const Effect& effect) {
    return std::holds_alternative<SendToWorker>(effect);
  };
  const auto sent = std::find_if(effects.begin(), effects.end(), is_sent);
  EXPECT_EQ(std::count_if(
                effects.begin(), sent,
                [](const Effect& effect) { return std::holds_alternative<PersistJob>(effect); }),
            2);
  EXPECT_THAT(Receivers(To::kPrepareRanks), ElementsAre("a"));
}

TEST_F(CoordinatorJobs, Submit_SameRequestAgain_MakesNoSecondJob) {
  Submit("j", 1, "request");
  Submit("k", 1, "request");
  EXPECT_THAT(effects, IsEmpty());
  EXPECT_EQ(core().FindJob(JobId("k")), nullptr);
  EXPECT_EQ(core().FindByRequestId("request")->id(), "j");
}

TEST_F(CoordinatorJobs, Submit_TwiceWithoutRequestId_MakesTwoJobs) {
  Submit("j");
  Submit("k");
  EXPECT_THAT(core().Jobs(), SizeIs(2));
  EXPECT_EQ(core().FindByRequestId(""), nullptr);
}

TEST_F(CoordinatorJobs, Submit_SameIdAgain_ChangesNothing) {
  Submit("j", 1);
  Submit("j", 2);
  EXPECT_THAT(effects, IsEmpty());
  EXPECT_EQ(job("j").world_size(), 1U);
}

TEST_F(CoordinatorJobs, Submit_NothingButItsRecordHasToBeStored) {
  Connect("a", 2);
  Apply(JobSubmitted{JobId("early"), Spec(1), ""});
  // "early" could start, but if the record of "j" cannot be stored, nothing else may be lost with it.
  Apply(JobSubmitted{JobId("j"), Spec(1), "request"});
  ASSERT_THAT(All<PersistJob>(), SizeIs(1));
  EXPECT_EQ(All<PersistJob>()[0].record.job().id(), "j");
  EXPECT_THAT(All<SendToWorker>(), IsEmpty());
  Apply(JobWithdrawn{JobId("j")});
  EXPECT_EQ(core().FindJob(JobId("j")), nullptr);
  EXPECT_EQ(core().FindByRequestId("request"), nullptr);
  Pass(absl::ZeroDuration());
  EXPECT_EQ(state("early"), v1::JOB_STATE_PREPARING);
}

TEST_F(CoordinatorJobs, Jobs_Several_AreNewestFirst) {
  for (const char* id : {"b", "c", "a"}) Submit(id);
  std::vector<std::string> ids;
  for (const v1::Job* job : core().Jobs()) ids.push_back(job->id());
  EXPECT_THAT(ids, ElementsAre("a", "c", "b"));
}

TEST_F(CoordinatorJobs, Queue_BigJobCouldFit_SmallOneBehindItPassesOnlyForAWhile) {
  Connect("a", 2);
  Submit("now", 1);
  Submit("big", 2);
  Submit("small", 1);
  EXPECT_EQ(state("small"), v1::JOB_STATE_PREPARING);
  Kill("small", 0);
  BeatThrough(SchedulerPolicy{}.starvation_limit + absl::Seconds(1));
  Submit("late", 1);
  EXPECT_EQ(job("late").waiting_reason(), "waits for big, which was submitted earlier");
}

TEST_F(CoordinatorJobs, Queue_ReasonUnchanged_IsNotLoggedAgain) {
  Connect("a", 1);
  Submit("big", 3);
  EXPECT_THAT(All<Log>(), SizeIs(1));
  Connect("b", 1);
  EXPECT_THAT(All<Log>(), SizeIs(2));  // The worker, and the new numbers.
  Disconnect("b");
  Submit("other", 3);
  EXPECT_THAT(All<Log>(), SizeIs(1));  // Only the new job's reason.
  Pass(absl::Seconds(1));
  EXPECT_THAT(effects, IsEmpty());
}

TEST_F(CoordinatorJobs, Cancel_Queued_EndsAtOnceAndLetsTheNextStart) {
  Connect("a", 1);
  Submit("big", 2);
  Submit("small", 1);
  Cancel("big");
  EXPECT_EQ(state("big"), v1::JOB_STATE_CANCELLED);
  EXPECT_TRUE(job("big").has_ended_at());
  EXPECT_EQ(state("small"), v1::JOB_STATE_PREPARING);
}

TEST_F(CoordinatorJobs, Cancel_Running_AbortsAndEndsWhenTheLastRankIsGone) {
  Connect("a", 1);
  Connect("b", 1);
  Submit("j", 2);
  PrepareAll("j");
  Cancel("j");
  EXPECT_EQ(state("j"), v1::JOB_STATE_CANCELLING);
  EXPECT_THAT(Receivers(To::kAbort), ElementsAre("a", "b"));
  ExitAborted("j", 0);
  EXPECT_EQ(state("j"), v1::JOB_STATE_CANCELLING);
  ExitAborted("j", 1);
  EXPECT_EQ(state("j"), v1::JOB_STATE_CANCELLED);
  EXPECT_FALSE(job("j").has_cause());
  EXPECT_THAT(All<AttemptFailed>(), IsEmpty());
}

TEST_F(CoordinatorJobs, Cancel_RankDiesMeanwhile_IsStillACancel) {
  Connect("a", 1);
  Submit("j");
  PrepareAll("j");
  Cancel("j");
  Kill("j", 0);
  EXPECT_EQ(state("j"), v1::JOB_STATE_CANCELLED);
  EXPECT_FALSE(job("j").has_cause());
}

TEST_F(CoordinatorJobs, Cancel_JobThatIsFailing_EndsCancelledAndKeepsTheCause) {
  Connect("a", 2);
  Submit("j", 2);
  PrepareAll("j");
  Kill("j", 1);
  Cancel("j");
  ExitAborted("j", 0);
  EXPECT_EQ(state("j"), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(job("j").cause().code(), v1::CAUSE_CODE_RANK_DIED);
}

TEST_F(CoordinatorJobs, Cancel_Twice_SecondChangesNothing) {
  Connect("a", 1);
  Submit("j");
  Cancel("j");
  EXPECT_TRUE(core().CheckCancel(JobId("j")).ok());
  Cancel("j");
  EXPECT_THAT(effects, IsEmpty());
}

TEST_F(CoordinatorJobs, CheckCancel_UnknownOrEnded_SaysWhich) {
  EXPECT_EQ(core().CheckCancel(JobId("j")).code(), absl::StatusCode::kNotFound);
  Submit("j");
  EXPECT_TRUE(core().CheckCancel(JobId("j")).ok());
  Cancel("j");
  EXPECT_EQ(core().CheckCancel(JobId("j")).code(), absl::StatusCode::kFailedPrecondition);
  Cancel("j");
  EXPECT_THAT(effects, IsEmpty());
}

TEST_F(CoordinatorJobs, Log_OfAnotherAttemptOrJob_IsDropped) {
  Connect("a", 1);
  Submit("j");
  const auto kept = [this](const std::string& id, uint32_t attempt) {
    v1::WorkerToCoordinator message;
    message.mutable_rank_log()->set_job_id(id);
    message.mutable_rank_log()->set_attempt(attempt);
    Say("a", message);
    return !All<AppendLogs>().empty();
  };
  EXPECT_TRUE(kept("j", 1));
  EXPECT_FALSE(kept("j", 0));
  EXPECT_FALSE(kept("j", 2));
  EXPECT_FALSE(kept("k", 1));
  Kill("j", 0);
  EXPECT_TRUE(kept("j", 1)) << "a late line of a job that has ended";
}

TEST_F(CoordinatorJobs, Restore_JobsInEveryState_GoOnWhereTheyCan) {
  Connect("a", 4);
  for (const char* id : {"preparing", "running", "done", "cancelling"}) Submit(id);
  Submit("queued-1");
  Submit("queued-2");
  PrepareAll("running");
  PrepareAll("done");
  Finish("done", 0);
  Cancel("queued-1");
  Cancel("cancelling");
  Submit("queued-3");
  ExitCleanly("done", 0);
  ASSERT_EQ(state("queued-2"), v1::JOB_STATE_PREPARING);
  Restart();
  EXPECT_EQ(state("preparing"), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(job("preparing").attempts(0).cause().code(), v1::CAUSE_CODE_COORDINATOR_RESTARTED);
  EXPECT_EQ(state("running"), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(state("done"), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(state("cancelling"), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(state("queued-1"), v1::JOB_STATE_CANCELLED);
  for (const char* id : {"preparing", "running", "done", "cancelling"}) {
    EXPECT_FALSE(job(id).has_cause()) << id;
  }
  EXPECT_THAT(All<AttemptFailed>(), IsEmpty());
  EXPECT_EQ(job("queued-3").waiting_reason(), "needs 1 cpu slot but no connected worker has any");
  EXPECT_EQ(core().Workers().at(0).state(), v1::WORKER_STATE_DISCONNECTED);
}

TEST_F(CoordinatorJobs, Restore_PreparingJob_NextAttemptHasAHigherNumber) {
  Connect("a", 1);
  Submit("j");
  Restart();
  Connect("a", 1);
  EXPECT_EQ(job("j").attempt(), 2U);
  EXPECT_EQ(journal.at("j").job().attempt(), 2U);
}

TEST_F(CoordinatorJobs, Restore_RequestIdsAndSequences_AreStillKnown) {
  Submit("j", 1, "request");
  Restart();
  Submit("k", 1, "request");
  EXPECT_EQ(core().FindJob(JobId("k")), nullptr);
  Submit("l");
  EXPECT_GT(journal.at("l").sequence(), journal.at("j").sequence());
}

}  // namespace
}  // namespace tandem::core
