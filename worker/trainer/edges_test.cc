// Public failures of data-parallel training (the numbers are those of docs/cases.md), and the shapes at
// which it usually breaks, on real trainer processes.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/spec/spec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/process/testing/test_agent.h"
#include "worker/trainer/test_job.h"
#include "worker/trainer/traced_run.h"

namespace tandem::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

// Numbered samples, one feature each.
std::string Lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) absl::StrAppend(&text, i, ",", i % 2, "\n");
  return text;
}

v1::JobSpec JobOn(int samples, uint32_t batch, uint32_t logical_ranks) {
  v1::JobSpec spec = SmallJob();
  spec.mutable_data()->mutable_csv()->set_path(WriteTestFile("numbers.csv", Lines(samples)));
  spec.mutable_data()->mutable_csv()->set_classes(2);
  spec.set_global_batch_size(batch);
  spec.set_logical_ranks(logical_ranks);
  spec.clear_evaluate();
  return spec;
}

std::vector<int64_t> ZeroTo(int64_t count) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}

v1::StepSample SampleOf(const TracedRun& run, uint64_t step) {
  v1::StepSample sample;
  EXPECT_TRUE(sample.ParseFromString(run.samples.at(step - 1)));
  return sample;
}

std::vector<int64_t> EpochOf(const TracedRun& run, uint64_t epoch, uint64_t steps_per_epoch) {
  std::vector<int64_t> samples;
  for (uint64_t step = 1; step <= steps_per_epoch; ++step) {
    for (const int64_t id : SamplesOf(run, epoch * steps_per_epoch + step)) samples.push_back(id);
  }
  return samples;
}

TEST(Case1, FiveSamplesUnshuffledOnTwoRanks_EachIsCountedOnce) {
  v1::JobSpec spec = JobOn(5, 5, 2);
  spec.mutable_data()->set_shuffle(false);
  const TracedRun two = TrainTraced(spec, 2);
  EXPECT_EQ(SamplesOf(two, 1), ZeroTo(5));
  EXPECT_EQ(SampleOf(two, 1).count(), 5u);
  ExpectSameBits(two, TrainTraced(spec, 1));
}

TEST(Case1, TwentyOneHeldOutSamplesOnTwoRanks_AreMeasuredOnceEach) {
  v1::JobSpec spec = JobOn(42, 8, 2);
  spec.mutable_evaluate()->set_holdout(0.5);
  spec::FillDefaults(&spec);
  std::vector<std::string> evaluations;
  for (const uint32_t world_size : {1, 2}) {
    const RankRecord record = RunJob(TRAINER, spec, world_size)[0];
    v1::Evaluation evaluation;
    ASSERT_TRUE(evaluation.ParseFromString(record.evaluations.back()));
    EXPECT_EQ(evaluation.samples(), 21u);
    evaluations.push_back(record.evaluations.back());
  }
  EXPECT_EQ(evaluations[0], evaluations[1]);
}

TEST(Case2, OneSampleOnFourRanks_TrainsAsOnOne) {
  const v1::JobSpec spec = JobOn(1, 4, 4);
  const TracedRun four = TrainTraced(spec, 4);
  EXPECT_EQ(SamplesOf(four, 1), ZeroTo(1));
  EXPECT_EQ(SampleOf(four, 1).count(), 1u);
  ExpectSameBits(four, TrainTraced(spec, 1));
  ExpectSameBits(four, TrainTraced(spec, 3));
}

TEST(Case3And4, TwoEpochs_HaveOrdersOfTheirOwnAtEveryWorldSize) {
  const v1::JobSpec spec = JobOn(8, 4, 2);
  const TracedRun two = TrainTraced(spec, 2);
  EXPECT_NE(EpochOf(two, 0, 2), EpochOf(two, 1, 2));
  EXPECT_EQ(EpochOf(two, 0, 2), EpochOf(TrainTraced(spec, 1), 0, 2));
}

TEST(Case5And7, RanksOfAnEpoch_AreDisjointAndCoverTheData) {
  const TracedRun two = TrainTraced(JobOn(8, 4, 2), 2);
  EXPECT_THAT(EpochOf(two, 0, 2), UnorderedElementsAreArray(ZeroTo(8)));
  EXPECT_THAT(EpochOf(two, 1, 2), UnorderedElementsAreArray(ZeroTo(8)));
}

TEST(Case6, BatchOfEight_IsEightInAllAtEveryWorldSize) {
  const v1::JobSpec spec = JobOn(24, 8, 4);
  for (const uint32_t world_size : {1, 2, 3, 4}) {
    const TracedRun run = TrainTraced(spec, world_size);
    EXPECT_EQ(run.samples.size(), 6u) << world_size;
    EXPECT_EQ(SampleOf(run, 1).count(), 8u) << world_size;
  }
}

TEST(Case16, ReportedLoss_IsOfAllRanksAndTheSameText) {
  const TracedRun two = TrainTraced(JobOn(8, 8, 2), 2);
  double sum = 0;
  for (const auto& rank : two.ranks) sum += rank[0].leaves(0).loss_sum();
  EXPECT_EQ(SampleOf(two, 1).loss_sum(), sum);
  EXPECT_NE(two.ranks[0][0].leaves(0).loss_sum(), two.ranks[1][0].leaves(0).loss_sum());
}

TEST(Case20, LearningRate_FallsAtTheSameStepAtEveryWorldSize) {
  v1::JobSpec spec = JobOn(8, 4, 2);
  spec.clear_epochs();
  spec.set_steps(6);
  spec.mutable_schedule()->mutable_step()->set_every_steps(4);
  spec::FillDefaults(&spec);
  for (const uint32_t world_size : {1, 2}) {
    const TracedRun run = TrainTraced(spec, world_size);
    EXPECT_EQ(SampleOf(run, 4).learning_rate(), 0.01);
    EXPECT_DOUBLE_EQ(SampleOf(run, 5).learning_rate(), 0.001);
  }
}

// By logical rank, what the generator yields in the first step.
std::vector<uint64_t> FirstDraws(const TracedRun& run) {
  std::vector<uint64_t> draws;
  for (const auto& rank : run.ranks) {
    for (const v1::LeafTrace& leaf : rank[0].leaves()) draws.push_back(leaf.first_draw());
  }
  return draws;
}

TEST(Case22, DropoutMasks_DifferBetweenLogicalRanksAndNotBetweenWorldSizes) {
  const v1::JobSpec spec = JobOn(16, 16, 4);
  const std::vector<uint64_t> alone = FirstDraws(TrainTraced(spec, 1));
  EXPECT_EQ(std::set<uint64_t>(alone.begin(), alone.end()).size(), 4u);
  EXPECT_EQ(FirstDraws(TrainTraced(spec, 2)), alone);
  EXPECT_EQ(FirstDraws(TrainTraced(spec, 3)), alone);
}

// Why threads_per_rank is part of the job.
TEST(Case35, OtherThreadCount_GivesOtherBits) {
  v1::JobSpec spec = SmallJob();
  v1::Synthetic& synthetic = *spec.mutable_data()->mutable_synthetic();
  synthetic.set_samples(256);
  synthetic.mutable_regression()->set_features(32);
  synthetic.mutable_regression()->set_outputs(512);
  spec.mutable_model()->mutable_mlp()->clear_hidden();
  spec.clear_evaluate();
  spec.clear_epochs();
  spec.set_steps(5);
  spec.set_global_batch_size(256);
  spec.set_logical_ranks(1);
  spec::FillDefaults(&spec);
  const std::vector<std::string> one = RunJob(TRAINER, spec, 1)[0].samples;
  EXPECT_EQ(RunJob(TRAINER, spec, 1)[0].samples, one);
  spec.set_threads_per_rank(2);
  EXPECT_NE(RunJob(TRAINER, spec, 1)[0].samples, one);
}

// Section 9 of the contract, test 7: what people do by hand, and are content with 1e-3.
TEST(ControlExperiment, TwoHundredFiftySixSamplesUnshuffled_OneAndTwoRanks_DifferByNothing) {
  v1::JobSpec spec = JobOn(256, 64, 2);
  spec.mutable_data()->set_shuffle(false);
  spec.clear_epochs();
  spec.set_steps(20);
  ExpectSameBits(TrainTraced(spec, 1), TrainTraced(spec, 2));
}

struct Shape {
  int samples;
  uint32_t batch, logical_ranks;
};

class OddShape : public ::testing::TestWithParam<Shape> {};

TEST_P(OddShape, EveryWorldSize_SameBitsAndEverySampleOnce) {
  const auto [samples, batch, logical_ranks] = GetParam();
  const v1::JobSpec spec = JobOn(samples, batch, logical_ranks);
  const TracedRun alone = TrainTraced(spec, 1);
  EXPECT_THAT(EpochOf(alone, 0, alone.samples.size() / 2),
              UnorderedElementsAreArray(ZeroTo(samples)));
  for (const uint32_t world_size : {2u, 3u, logical_ranks}) {
    ExpectSameBits(TrainTraced(spec, world_size), alone);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, OddShape,
    ::testing::Values(Shape{10, 4, 4},    // does not divide into batches
                      Shape{3, 8, 8},     // fewer samples than logical ranks
                      Shape{13, 12, 8}),  // neither divides; five empty shares in the last batch
    [](const auto& info) {
      return absl::StrCat(info.param.samples, "Samples", info.param.batch, "Batch",
                          info.param.logical_ranks, "LogicalRanks");
    });

}  // namespace
}  // namespace tandem::trainer
