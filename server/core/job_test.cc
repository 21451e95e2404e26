#include "server/core/job.h"

#include <functional>
#include <map>
#include <string>

#include "common/proto_time.h"
#include "gtest/gtest.h"

namespace tandem::core {
namespace {

const Moment kNow{absl::FromUnixSeconds(1000), absl::Seconds(50)};

Moment After(absl::Duration wait) { return {kNow.wall + wait, kNow.steady + wait}; }

Job InState(v1::JobState state) {
  v1::JobRecord record;
  record.set_sequence(7);
  record.mutable_job()->set_id("j");
  record.mutable_job()->set_state(state);
  record.mutable_job()->set_attempt(3);
  record.mutable_job()->set_world_size(2);
  record.mutable_job()->set_logical_ranks(4);
  *record.mutable_job()->mutable_submitted_at() = ToProto(kNow.wall);
  return Job(record, kNow);
}

const std::vector<Placement> kPlaces = {{WorkerName("a"), "cpu:0"}, {WorkerName("b"), "cpu:1"}};

Job Running() {
  Job job = InState(v1::JOB_STATE_QUEUED);
  job.StartAttempt(kPlaces, kNow);
  job.Run({}, kNow);
  return job;
}

v1::Cause CauseWith(v1::CauseCode code) {
  v1::Cause cause;
  cause.set_code(code);
  return cause;
}

v1::RankProgress Steps(uint64_t first, uint64_t count) {
  v1::RankProgress progress;
  for (uint64_t i = 0; i < count; ++i) {
    v1::StepSample& sample = *progress.add_samples();
    sample.set_step(first + i);
    sample.set_loss_sum(3);
    sample.set_count(2);
    sample.set_receipt(1000 + first + i);
  }
  return progress;
}

v1::RankProgress Saved(uint64_t step) {
  v1::RankProgress progress;
  progress.mutable_checkpoint()->set_step(step);
  progress.mutable_checkpoint()->set_path("/checkpoints/j/" + std::to_string(step));
  return progress;
}

Job Submitted(const v1::JobSpec& spec) { return Job(1, {JobId("j"), spec, ""}, kNow); }

TEST(Job, EveryVerbFromEveryState_OnlyTheEdgesOfTheDiagramExist) {
  const std::map<std::string, std::function<bool(Job&)>> verbs = {
      {"StartAttempt", [](Job& job) { return job.StartAttempt(kPlaces, kNow); }},
      {"Requeue", [](Job& job) { return job.Requeue(kNow); }},
      {"Run", [](Job& job) { return job.Run({}, kNow); }},
      {"Succeed", [](Job& job) { return job.Succeed("digest", kNow); }},
      {"Fail", [](Job& job) { return job.Fail(kNow); }},
      {"Cancel", [](Job& job) { return job.Cancel(kNow); }},
      {"FinishCancel", [](Job& job) { return job.FinishCancel(kNow); }}};
  const std::map<std::pair<std::string, v1::JobState>, v1::JobState> edges = {
      {{"StartAttempt", v1::JOB_STATE_QUEUED}, v1::JOB_STATE_PREPARING},
      {{"Requeue", v1::JOB_STATE_PREPARING}, v1::JOB_STATE_QUEUED},
      {{"Requeue", v1::JOB_STATE_RUNNING}, v1::JOB_STATE_QUEUED},
      {{"Run", v1::JOB_STATE_PREPARING}, v1::JOB_STATE_RUNNING},
      {{"Succeed", v1::JOB_STATE_RUNNING}, v1::JOB_STATE_SUCCEEDED},
      {{"Fail", v1::JOB_STATE_PREPARING}, v1::JOB_STATE_FAILED},
      {{"Fail", v1::JOB_STATE_RUNNING}, v1::JOB_STATE_FAILED},
      {{"Cancel", v1::JOB_STATE_QUEUED}, v1::JOB_STATE_CANCELLED},
      {{"Cancel", v1::JOB_STATE_PREPARING}, v1::JOB_STATE_CANCELLING},
      {{"Cancel", v1::JOB_STATE_RUNNING}, v1::JOB_STATE_CANCELLING},
      {{"FinishCancel", v1::JOB_STATE_CANCELLING}, v1::JOB_STATE_CANCELLED}};
  for (const auto& [name, verb] : verbs) {
    for (int number = v1::JOB_STATE_QUEUED; number <= v1::JOB_STATE_CANCELLED; ++number) {
      const auto state = static_cast<v1::JobState>(number);
      SCOPED_TRACE(name + " from " + v1::JobState_Name(state));
      Job job = InState(state);
      const std::string before = job.view().SerializeAsString();
      const auto edge = edges.find({name, state});
      EXPECT_EQ(verb(job), edge != edges.end());
      if (edge != edges.end()) {
        EXPECT_EQ(job.state(), edge->second);
      } else {
        EXPECT_EQ(job.view().SerializeAsString(), before);
      }
    }
  }
}

TEST(Job, StartAttempt_AfterEarlierOne_CountsOnAndForgetsItsProgress) {
  Job job = Running();
  job.AddProgress(Steps(1, 5), kNow);
  ASSERT_TRUE(job.Requeue(kNow));
  ASSERT_TRUE(job.StartAttempt(kPlaces, kNow));
  EXPECT_EQ(job.attempt(), AttemptNumber(5));
  EXPECT_EQ(job.view().step(), 0U);
  EXPECT_FALSE(job.view().has_loss());
  ASSERT_EQ(job.view().ranks_size(), 2);
  EXPECT_EQ(job.view().ranks(1).worker(), "b");
  EXPECT_EQ(job.view().ranks(1).slot(), "cpu:1");
  EXPECT_EQ(job.view().ranks(1).logical_begin(), 2U);
  EXPECT_EQ(job.view().ranks(1).logical_end(), 4U);
}

TEST(Job, SetCause_SecondCause_FirstIsKept) {
  Job job = Running();
  EXPECT_TRUE(job.SetCause(CauseWith(v1::CAUSE_CODE_RANK_DIED), kNow));
  EXPECT_FALSE(job.SetCause(CauseWith(v1::CAUSE_CODE_WORKER_LOST), kNow));
  EXPECT_EQ(job.view().cause().code(), v1::CAUSE_CODE_RANK_DIED);
  EXPECT_EQ(job.view().cause().attempt(), 4U);
  EXPECT_EQ(FromProto(job.view().cause().time()), kNow.wall);
}

TEST(Job, SetCause_AfterPeerLost_FirstBetterOneReplacesIt) {
  Job job = Running();
  EXPECT_TRUE(job.SetCause(CauseWith(v1::CAUSE_CODE_PEER_LOST), kNow));
  EXPECT_FALSE(job.SetCause(CauseWith(v1::CAUSE_CODE_PEER_LOST), kNow));
  EXPECT_TRUE(job.SetCause(CauseWith(v1::CAUSE_CODE_RANK_DIED), kNow));
  EXPECT_FALSE(job.SetCause(CauseWith(v1::CAUSE_CODE_RANK_ERROR), kNow));
  EXPECT_EQ(job.view().cause().code(), v1::CAUSE_CODE_RANK_DIED);
}

TEST(Job, SetCause_OfEarlierAttempt_DoesNotStandInTheWay) {
  Job job = Running();
  ASSERT_TRUE(job.SetCause(CauseWith(v1::CAUSE_CODE_RANK_DIED), kNow));
  ASSERT_TRUE(job.Requeue(kNow) && job.StartAttempt(kPlaces, kNow));
  EXPECT_FALSE(job.HasCause());
  EXPECT_TRUE(job.SetCause(CauseWith(v1::CAUSE_CODE_WORKER_LOST), kNow));
}

TEST(Job, Requeue_AfterAPlannedEnd_IsInTheTimelineAndNoCause) {
  Job job = Running();
  job.SetPlannedEnd(v1::CAUSE_CODE_RESIZED, "why", kNow);
  EXPECT_TRUE(job.EndIsPlanned());
  ASSERT_TRUE(job.Requeue(kNow));
  EXPECT_FALSE(job.EndIsPlanned());
  EXPECT_FALSE(job.view().has_cause());
  EXPECT_EQ(job.view().attempts().rbegin()->cause().message(), "why");
  EXPECT_TRUE(job.demand().resumes);
}

TEST(Job, Attempts_OfMoreThanAHundred_TheFirstAndTheLastAreKept) {
  Job job = Running();
  const uint32_t first = job.view().attempts(0).number();
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(job.Requeue(kNow) && job.StartAttempt(kPlaces, kNow));
  }
  ASSERT_EQ(job.view().attempts_size(), 100);
  EXPECT_EQ(job.view().attempts(0).number(), first);
  EXPECT_EQ(job.view().attempts(99).number(), job.view().attempt());
  EXPECT_EQ(job.view().attempts(98).number(), job.view().attempt() - 1);
}

TEST(Job, Requeue_ThenCancelled_TheRestartIsNotTheCause) {
  Job job = Running();
  ASSERT_TRUE(job.Requeue(kNow) && job.Cancel(kNow));
  EXPECT_FALSE(job.view().has_cause());
}

TEST(Job, SetCause_WhileCancelling_IsRefused) {
  Job job = Running();
  ASSERT_TRUE(job.Cancel(kNow));
  EXPECT_FALSE(job.SetCause(CauseWith(v1::CAUSE_CODE_RANK_DIED), kNow));
  EXPECT_FALSE(job.view().has_cause());
}

TEST(Job, AddProgress_FirstSteps_SetsLossStepAndTimeToFirstStep) {
  Job job = Running();
  job.AddProgress(Steps(1, 4), After(absl::Milliseconds(800)));
  EXPECT_EQ(job.view().step(), 4U);
  EXPECT_EQ(job.view().loss(), 1.5);
  EXPECT_EQ(FromProto(job.view().time_to_first_step()), absl::Milliseconds(800));
  job.AddProgress(Steps(5, 4), After(absl::Seconds(2)));
  EXPECT_EQ(FromProto(job.view().time_to_first_step()), absl::Milliseconds(800));
}

TEST(Job, AddProgress_AllSamplesMasked_KeepsLastLoss) {
  Job job = Running();
  job.AddProgress(Steps(1, 1), After(absl::Seconds(1)));
  v1::RankProgress masked = Steps(2, 2);
  masked.mutable_samples(0)->set_loss_sum(5);
  masked.mutable_samples(1)->set_count(0);
  job.AddProgress(masked, After(absl::Seconds(2)));
  EXPECT_EQ(job.view().step(), 3U);
  EXPECT_EQ(job.view().loss(), 2.5);
}

TEST(Job, AddProgress_AllSamplesMaskedFromTheStart_HasNoLoss) {
  Job job = Running();
  v1::RankProgress masked = Steps(1, 1);
  masked.mutable_samples(0)->set_count(0);
  masked.mutable_samples(0)->set_loss_sum(0);
  job.AddProgress(masked, kNow);
  EXPECT_FALSE(job.view().has_loss());
}

TEST(Job, Submitted_ReceiptSaysTheLevelOfTheSpecification) {
  v1::JobSpec spec;
  spec.set_logical_ranks(4);
  EXPECT_EQ(Submitted(spec).view().receipt().level(), v1::EQUIVALENCE_LEVEL_BITWISE);
  EXPECT_EQ(Submitted(spec).view().receipt().logical_ranks(), 4U);
  spec.mutable_unsafe()->set_order_by_rank(true);
  EXPECT_EQ(Submitted(spec).view().receipt().level(), v1::EQUIVALENCE_LEVEL_NONE);
  EXPECT_EQ(Submitted(spec).view().receipt().reason(), "unsafe.order_by_rank");
}

TEST(Job, AddProgress_Samples_ReceiptFollowsTheLastStepAndTheLastParameterDigest) {
  Job job = Running();
  v1::RankProgress progress = Steps(1, 3);
  progress.mutable_samples(1)->set_parameter_digest("ab12");
  job.AddProgress(progress, kNow);
  EXPECT_EQ(job.view().receipt().step(), 3U);
  EXPECT_EQ(job.view().receipt().digest(), 1003U);
  EXPECT_EQ(job.view().receipt().parameter_step(), 2U);
  EXPECT_EQ(job.view().receipt().parameter_digest(), "ab12");
  job.AddProgress(Steps(4, 1), kNow);
  EXPECT_EQ(job.view().receipt().digest(), 1004U);
  EXPECT_EQ(job.view().receipt().parameter_step(), 2U);
}

TEST(Job, StartAttempt_AfterEarlierOne_ReceiptStartsAnewAndTheCheckpointStays) {
  Job job = Running();
  job.AddProgress(Steps(1, 5), kNow);
  job.AddProgress(Saved(4), kNow);
  ASSERT_TRUE(job.Requeue(kNow) && job.StartAttempt(kPlaces, kNow));
  EXPECT_EQ(job.view().receipt().level(), v1::EQUIVALENCE_LEVEL_BITWISE);
  EXPECT_EQ(job.view().receipt().step(), 0U);
  EXPECT_EQ(job.view().receipt().digest(), 0U);
  EXPECT_EQ(job.view().checkpoint().step(), 4U);
  EXPECT_EQ(job.view().checkpoint().path(), "/checkpoints/j/4");
}

TEST(Job, AddProgress_GoesOnFromACheckpoint_CountsItsOwnStepsOnly) {
  Job job = Running();
  job.AddProgress(Steps(41, 100), After(absl::Seconds(1)));
  EXPECT_EQ(job.view().step(), 140U);
  EXPECT_EQ(job.view().first_step(), 41U);
  EXPECT_EQ(job.view().steps_per_second(), 100);
  EXPECT_EQ(FromProto(job.view().time_to_first_step()), absl::Seconds(1));
  job.AddProgress(Steps(141, 1), After(absl::Seconds(2)));
  EXPECT_EQ(job.view().first_step(), 41U);
  ASSERT_TRUE(job.Requeue(kNow) && job.StartAttempt(kPlaces, kNow));
  EXPECT_EQ(job.view().first_step(), 0U);
}

TEST(Job, AddProgress_Checkpoint_NeverGoesBackwardsWithinAnAttempt) {
  Job job = Running();
  EXPECT_TRUE(job.AddProgress(Saved(20), kNow));
  EXPECT_FALSE(job.AddProgress(Saved(20), kNow));
  EXPECT_FALSE(job.AddProgress(Saved(10), kNow));
  EXPECT_EQ(job.view().checkpoint().step(), 20U);
  EXPECT_FALSE(job.AddProgress(Steps(21, 1), kNow));
  EXPECT_TRUE(job.AddProgress(Saved(30), kNow));
  EXPECT_EQ(job.view().checkpoint().path(), "/checkpoints/j/30");
}

TEST(Job, AddProgress_FirstCheckpointOfANewAttempt_CountsWhereverItIs) {
  Job job = Running();
  job.AddProgress(Saved(20), kNow);
  ASSERT_TRUE(job.Requeue(kNow) && job.StartAttempt(kPlaces, kNow) && job.Run({}, kNow));
  EXPECT_TRUE(job.AddProgress(Saved(10), kNow));
  EXPECT_EQ(job.view().checkpoint().step(), 10U);
}

TEST(Job, StepsPerSecond_OverTheLastSeconds_RisesAndFallsToZeroInAStall) {
  Job job = Running();
  job.AddProgress(Steps(1, 100), After(absl::Seconds(1)));
  EXPECT_EQ(job.view().steps_per_second(), 100);
  job.AddProgress(Steps(101, 300), After(absl::Seconds(2)));
  EXPECT_EQ(job.view().steps_per_second(), 200);
  EXPECT_TRUE(job.RefreshRate(After(absl::Seconds(4))));
  EXPECT_EQ(job.view().steps_per_second(), 100);
  EXPECT_TRUE(job.RefreshRate(After(absl::Seconds(9))));
  EXPECT_EQ(job.view().steps_per_second(), 0);
}

TEST(Job, Record_OfRunningJob_RebuildsItWithoutWhatOnlyDescribesTheMoment) {
  Job job = Running();
  job.AddProgress(Steps(1, 10), After(absl::Seconds(1)));
  const v1::JobRecord record = job.Record();
  EXPECT_EQ(record.job().steps_per_second(), 0);
  const Job again(record, After(absl::Seconds(2)));
  EXPECT_EQ(again.Record().SerializeAsString(), record.SerializeAsString());
}

TEST(Job, Record_ReadByAProcessWithAnotherSteadyClock_TimeToFirstStepCountsFromSubmission) {
  Job job(InState(v1::JOB_STATE_QUEUED).Record(),
          {kNow.wall + absl::Seconds(30), absl::Seconds(2)});
  job.StartAttempt(kPlaces, {kNow.wall + absl::Seconds(30), absl::Seconds(2)});
  job.Run({}, {kNow.wall + absl::Seconds(31), absl::Seconds(3)});
  job.AddProgress(Steps(1, 1), {kNow.wall + absl::Seconds(32), absl::Seconds(4)});
  EXPECT_EQ(FromProto(job.view().time_to_first_step()), absl::Seconds(32));
}

}  // namespace
}  // namespace tandem::core
