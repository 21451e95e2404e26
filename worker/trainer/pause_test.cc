// A training that was asked to pause goes on from there, with another number of ranks, to the same bits;
// and an attempt that was given up can save no more.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/checkpoint/attempt_fence.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/spec/spec.h"
#include "common/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/process/testing/test_agent.h"
#include "worker/trainer/test_job.h"

namespace tandem::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kSteps = 10;

class PauseTest : public ::testing::Test {
 protected:
  // 6 steps an epoch, of which the last has samples for two of the four logical ranks. Measured after every
  // third step; saved at the end, if not more often.
  v1::JobSpec Job(uint64_t steps = kSteps, uint64_t save_every = 0) const {
    v1::JobSpec spec = SmallJob();
    spec.clear_epochs();
    spec.set_steps(steps);
    spec.mutable_evaluate()->set_every_steps(3);
    spec.mutable_checkpoint()->set_dir(root_.path());
    if (save_every > 0) spec.mutable_checkpoint()->set_every_steps(save_every);
    spec::FillDefaults(&spec);
    return spec;
  }
  v1::JobSpec EndlessJob(uint64_t save_every = 0) const { return Job(1'000'000'000, save_every); }
  // What the job is when nobody disturbs it. Leaves nothing behind.
  RankRecord Undisturbed(const v1::JobSpec& spec) const {
    const RankRecord whole = RunJob(TRAINER, spec, 2)[0];
    EXPECT_FALSE(whole.failure) << whole.failure->message();
    std::filesystem::remove_all(own_folder_);
    return whole;
  }
  std::vector<uint64_t> Saved() const { return *checkpoint::CheckpointFolder(own_folder_).Steps(); }
  // A rank of a job of `world_size`.
  std::unique_ptr<TestTrainer> Begin(const v1::JobSpec& spec, uint32_t attempt, uint32_t rank = 0,
                                     uint32_t world_size = 1) const {
    v1::Prepare prepare = PrepareFor(spec, rank, world_size);
    prepare.set_attempt(attempt);
    return std::make_unique<TestTrainer>(TRAINER, prepare);
  }

  const TemporaryFolder root_ = *TemporaryFolder::Create("tandem-pause");
  const std::string own_folder_ = root_.path() + "/job-1";
};

void Append(const std::vector<std::string>& more, std::vector<std::string>* all) {
  all->insert(all->end(), more.begin(), more.end());
}

uint64_t ReceiptAfter(const std::vector<std::string>& samples) {
  if (samples.empty()) return 0;
  v1::StepSample sample;
  EXPECT_TRUE(sample.ParseFromString(samples.back()));
  return sample.receipt();
}

// So a pause comes before the first step, in the middle, before a measurement and at the last step; at every
// world size; told to the first or to the last rank only. In step 6 that one has no samples.
TEST_F(PauseTest, OneRankAskedInEveryStep_EachAttemptDoesOneStepAndAllAreAsNeverPaused) {
  const RankRecord whole = Undisturbed(Job());
  std::vector<std::string> samples, evaluations;
  for (uint32_t done = 0; done < kSteps; ++done) {
    SCOPED_TRACE(done);
    const uint32_t world_size = 1 + (done + 2) % 4;
    const uint32_t told = done % 4 == 1 ? 0 : world_size - 1;
    const auto ranks =
        RunJob(TRAINER, Job(), world_size, {.number = done + 1, .paused_ranks = {told}});
    for (const RankRecord& rank : ranks) {
      EXPECT_EQ(rank.exit_code, 0) << rank.output;
      EXPECT_EQ(rank.steps_done, done);
      EXPECT_EQ(rank.receipt, ReceiptAfter(samples));
      // There is nothing left to pause at the last step.
      EXPECT_EQ(rank.paused.has_value(), done + 1 < kSteps);
      EXPECT_EQ(rank.paused.value_or(kSteps), done + 1);
      EXPECT_EQ(rank.digest, done + 1 < kSteps ? "" : whole.digest);
    }
    EXPECT_THAT(ranks[0].samples, SizeIs(1));
    Append(ranks[0].samples, &samples);
    Append(ranks[0].evaluations, &evaluations);
  }
  EXPECT_EQ(samples, whole.samples) << "losses, digests and receipts of all steps";
  EXPECT_EQ(evaluations, whole.evaluations);
}

TEST_F(PauseTest, AskedWhileItTrains_AllRanksStopAfterTheSameStepAndItGoesOnFromThere) {
  std::vector<std::unique_ptr<TestTrainer>> ranks;
  for (uint32_t rank = 0; rank < 2; ++rank) ranks.push_back(Begin(EndlessJob(), 1, rank, 2));
  const uint32_t port = ranks[0]->Await().prepared().master_port();
  ranks[1]->Await();
  for (auto& rank : ranks) rank->Start(port);
  ASSERT_TRUE(ranks[0]->Await().has_progress());
  ranks[1]->Pause();
  const RankRecord first = Record(*ranks[0]), second = Record(*ranks[1]);
  ASSERT_TRUE(first.paused && second.paused);
  EXPECT_EQ(first.paused, second.paused);
  EXPECT_THAT(Saved(), ElementsAre(*first.paused));

  const v1::JobSpec rest = Job(*first.paused + 3);
  const RankRecord resumed = RunJob(TRAINER, rest, 3, {.number = 2})[0];
  EXPECT_EQ(resumed.steps_done, *first.paused);
  EXPECT_THAT(resumed.samples, SizeIs(3));
  std::filesystem::remove_all(own_folder_);
  const RankRecord whole = Undisturbed(rest);
  EXPECT_EQ(resumed.digest, whole.digest);
  EXPECT_EQ(ReceiptAfter(resumed.samples), ReceiptAfter(whole.samples));
}

TEST_F(PauseTest, Control_CheckpointOfThePauseLost_BeginsAgain) {
  RunJob(TRAINER, Job(), 2, {.number = 1, .paused_ranks = {0}});
  EXPECT_THAT(Saved(), ElementsAre(1));
  std::filesystem::remove(checkpoint::CheckpointFolder(own_folder_).FileOf(1));
  const RankRecord again = RunJob(TRAINER, Job(), 1, {.number = 2})[0];
  EXPECT_EQ(again.steps_done, 0);
  EXPECT_THAT(again.samples, SizeIs(kSteps));
}

TEST_F(PauseTest, JobWithoutCheckpoints_PausesAndBeginsAgain) {
  v1::JobSpec spec = Job();
  spec.clear_checkpoint();
  for (const RankRecord& rank : RunJob(TRAINER, spec, 2, {.paused_ranks = {1}})) {
    EXPECT_EQ(rank.paused, 1);
    EXPECT_EQ(rank.exit_code, 0);
  }
  EXPECT_EQ(RunJob(TRAINER, spec, 1, {.number = 2})[0].steps_done, 0);
}

void ExpectFenced(const RankRecord& record) {
  ASSERT_TRUE(record.failure) << record.output;
  EXPECT_EQ(record.failure->code(), v1::CAUSE_CODE_FENCED);
  EXPECT_THAT(record.failure->message(), HasSubstr("attempt 2 of this job has begun"));
  EXPECT_EQ(record.exit_code, 1);
  EXPECT_FALSE(record.paused);
}

TEST_F(PauseTest, NewerAttemptIsPrepared_OlderOneThatStillTrainsIsFencedAndAddsNothing) {
  auto old = Begin(EndlessJob(/*save_every=*/1), 1);
  old->Start(old->Await().prepared().master_port());
  ASSERT_TRUE(old->Await().has_progress());
  auto newer = Begin(EndlessJob(), 2);
  const v1::TrainerToAgent prepared = newer->Await();
  ASSERT_TRUE(prepared.has_prepared()) << newer->Output();
  ExpectFenced(Record(*old));
  EXPECT_EQ(Saved().back(), prepared.prepared().steps_done());
}

TEST_F(PauseTest, Control_TheSameAttemptIsPreparedAgain_TheOneThatTrainsGoesOnSaving) {
  auto first = Begin(EndlessJob(/*save_every=*/1), 1);
  first->Start(first->Await().prepared().master_port());
  ASSERT_TRUE(first->Await().has_progress());
  const uint64_t found = Begin(EndlessJob(), 1)->Await().prepared().steps_done();
  uint64_t saved = 0;
  while (saved <= found) {
    const v1::TrainerToAgent message = first->Await();
    ASSERT_TRUE(message.has_progress()) << first->Output();
    saved = std::max(saved, message.progress().checkpoint().step());
  }
}

TEST_F(PauseTest, NewerAttemptHasBegun_OlderOneThatIsAskedToPauseSavesNothing) {
  auto old = Begin(Job(), 1);
  const uint32_t port = old->Await().prepared().master_port();
  ASSERT_TRUE(checkpoint::AttemptFence(own_folder_, 2).Raise().ok());
  old->Pause();
  old->Start(port);
  ExpectFenced(Record(*old));
  EXPECT_THAT(Saved(), IsEmpty());
}

TEST_F(PauseTest, NewerAttemptHasBegun_NoRankOfAnOlderOneGetsReady) {
  ASSERT_TRUE(checkpoint::AttemptFence(own_folder_, 2).Raise().ok());
  for (const uint32_t rank : {0, 1}) ExpectFenced(Record(*Begin(Job(), 1, rank, 2)));
}

}  // namespace
}  // namespace tandem::trainer
