#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/process/testing/test_agent.h"
#include "worker/trainer/test_job.h"

namespace tandem::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Rank 0's record of a run that has to succeed.
RankRecord Train(const v1::JobSpec& spec, uint32_t world_size,
                 const std::string& binary = TRAINER) {
  const std::vector<RankRecord> ranks = RunJob(binary, spec, world_size);
  for (const RankRecord& rank : ranks) {
    EXPECT_FALSE(rank.failure) << rank.failure->message();
    EXPECT_EQ(rank.exit_code, 0) << rank.output;
    EXPECT_THAT(rank.digest, SizeIs(64));
    EXPECT_EQ(rank.digest, ranks[0].digest);
  }
  return ranks[0];
}

// Parameters, and every reported number, to the last bit.
void ExpectSameBits(const RankRecord& a, const RankRecord& b) {
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.evaluations, b.evaluations);
}

TEST(Equivalence, EveryWorldSize_GivesTheSameBits) {
  const RankRecord alone = Train(SmallJob(), 1);
  EXPECT_THAT(alone.samples, SizeIs(12));
  EXPECT_THAT(alone.evaluations, SizeIs(2));
  for (uint32_t world_size : {2, 3, 4}) {
    SCOPED_TRACE(absl::StrCat("world size ", world_size));
    ExpectSameBits(Train(SmallJob(), world_size), alone);
  }
}

TEST(Equivalence, WorldSizeThatDoesNotDivideLogicalRanks_GivesTheSameBits) {
  v1::JobSpec spec = SmallJob();
  spec.set_logical_ranks(8);
  v1::Sgd& sgd = *spec.mutable_optimizer()->mutable_sgd();
  sgd.set_lr(0.05);
  sgd.set_momentum(0.9);
  sgd.set_weight_decay(0.001);
  ExpectSameBits(Train(spec, 5), Train(spec, 1));
}

TEST(Equivalence, RepeatedRun_GivesTheSameBits) {
  ExpectSameBits(Train(SmallJob(), 2), Train(SmallJob(), 2));
}

TEST(Equivalence, OtherSeed_GivesOtherBits) {
  v1::JobSpec other = SmallJob();
  other.set_seed(6);
  EXPECT_NE(Train(SmallJob(), 1).digest, Train(other, 1).digest);
}

// Logical ranks are part of the job: what the other tests hold equal is not equal by itself (CASES F7:
// one batch of 8 and two of 4 differ by rounding).
TEST(Equivalence, OtherLogicalRanks_GiveOtherBits) {
  v1::JobSpec other = SmallJob();
  other.set_logical_ranks(2);
  EXPECT_NE(Train(SmallJob(), 1).digest, Train(other, 1).digest);
}

// The control of the dropout seeds.
TEST(Equivalence, SeedingByPhysicalRank_IsNoticed) {
  const RankRecord alone = Train(SmallJob(), 1, RANK_SEEDED_TRAINER);
  const RankRecord two = Train(SmallJob(), 2, RANK_SEEDED_TRAINER);
  EXPECT_NE(alone.digest, two.digest);
  EXPECT_NE(alone.samples, two.samples);
}

TEST(Progress, AnyWorldSize_HoldsEveryStepOnceAndTheFirstOneAlone) {
  const RankRecord record = Train(SmallJob(), 2);
  EXPECT_EQ(record.total_steps, 12u);
  ASSERT_FALSE(record.messages.empty());
  EXPECT_EQ(record.messages[0].samples_size(), 1);
  uint64_t samples_seen = 0, steps = 0;
  for (const std::string& bytes : record.samples) {
    v1::StepSample sample;
    ASSERT_TRUE(sample.ParseFromString(bytes));
    EXPECT_EQ(sample.step(), ++steps);
    EXPECT_EQ(sample.epoch(), (steps - 1) / 6);
    samples_seen += sample.count();
  }
  EXPECT_EQ(samples_seen, 2 * 42u);
}

TEST(Progress, Evaluation_CountsEveryHeldOutSampleOnce) {
  const RankRecord record = Train(SmallJob(), 3);
  v1::Evaluation evaluation;
  ASSERT_TRUE(evaluation.ParseFromString(record.evaluations.back()));
  EXPECT_EQ(evaluation.samples(), 8u);
  EXPECT_EQ(evaluation.step(), 12u);
  EXPECT_EQ(evaluation.epoch(), 1u);
}

TEST(Progress, OnlyRankZero_Reports) {
  const std::vector<RankRecord> ranks = RunJob(TRAINER, SmallJob(), 2);
  EXPECT_TRUE(ranks[1].messages.empty());
}

TEST(Progress, Page_SaysDoneAtTheEnd) {
  for (const RankRecord& rank : RunJob(TRAINER, SmallJob(), 2)) {
    EXPECT_EQ(rank.position.step, 12u);
    EXPECT_EQ(rank.position.phase, v1::PHASE_DONE);
  }
}

TEST(Environment, Block_NamesRanksAndBatches) {
  const std::vector<RankRecord> ranks = RunJob(TRAINER, SmallJob(), 3);
  EXPECT_THAT(ranks[1].output, HasSubstr("1 of 3, local rank 1 of 3"));
  EXPECT_THAT(ranks[2].output, HasSubstr("2 to 3 of 4"));
  EXPECT_THAT(ranks[2].output, HasSubstr("8 samples, 4 of them on this rank"));
}

}  // namespace
}  // namespace tandem::trainer
