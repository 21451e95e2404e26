// Each cause is put into the evidence and must be named, alone and with its numbers. That nothing is
// named where nothing is wrong, judge_test.cc says.
#include "client/verify/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/verify/judge.h"
#include "client/verify/sample_evidence.h"

namespace tandem::verify {
namespace {

using ::testing::HasSubstr;

// One run on one rank, the same again, and one on two ranks, to be spoiled.
class DiagnoseTest : public testing::Test {
 protected:
  // The only finding.
  v1::Finding TheFinding() {
    const v1::Verification verdict = Judge({{first_, again_, other_}}, {});
    EXPECT_EQ(verdict.verdict(), v1::VERDICT_DIFFERENT);
    EXPECT_EQ(verdict.findings_size(), 1) << verdict.DebugString();
    EXPECT_EQ(verdict.diagnosis(), verdict.findings(0).diagnosis());
    return verdict.findings(0);
  }

  verify::Run first_ = GoodRun(1), again_ = GoodRun(1), other_ = GoodRun(2);
};

TEST_F(DiagnoseTest, RepetitionDiffers_HasNothingToDoWithW) {
  Derail(&again_, 3, 1.5);
  Derail(&other_, 1, 2);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_NOT_REPEATABLE);
  EXPECT_THAT(finding.sentence(), HasSubstr("step 3"));
  EXPECT_THAT(finding.sentence(), HasSubstr("does not repeat itself"));
}

TEST_F(DiagnoseTest, RepetitionWithOtherWeights_SaysWhereItStarts) {
  again_.ranks[0].header.mutable_tensors(0)->set_sha256("another");
  Derail(&again_, 1, 1.5);
  EXPECT_THAT(TheFinding().sentence(), HasSubstr("initial weights differ, first fc.weight"));
}

TEST_F(DiagnoseTest, RepetitionWithOtherDraws_SaysWhereItStarts) {
  again_.ranks[0].steps[0].mutable_leaves(1)->set_first_draw(77);
  Derail(&again_, 1, 1.5);
  EXPECT_THAT(TheFinding().sentence(), HasSubstr("random numbers of step 1 differ"));
}

TEST_F(DiagnoseTest, OtherWeightsAtTheOtherSize_NamesTheTensor) {
  for (RankTrace& rank : other_.ranks) rank.header.mutable_tensors(1)->set_sha256("another");
  Derail(&other_, 1, 2);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_INITIAL_WEIGHTS);
  EXPECT_EQ(finding.world_size(), 2u);
  EXPECT_THAT(finding.sentence(), HasSubstr("another fc.bias than W = 1: 1 of 3 tensors"));
}

TEST_F(DiagnoseTest, OtherWeightsOnOneRank_NamesTheRank) {
  other_.ranks[1].header.mutable_tensors(0)->set_sha256("another");
  Derail(&other_, 1, 2);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_INITIAL_WEIGHTS);
  EXPECT_THAT(finding.sentence(), HasSubstr("rank 1 of W = 2 has another fc.weight than rank 0"));
}

TEST_F(DiagnoseTest, TwiceTheBatch_HasBothCounts) {
  Resample(&other_, [](const v1::LeafTrace& leaf, uint64_t step) {
    std::vector<int64_t> ids;
    for (int i = 0; i < kBatch; ++i) {
      ids.push_back(static_cast<int64_t>(step) * 100 + int64_t{leaf.logical_rank()} * kBatch + i);
    }
    return ids;
  });
  for (v1::StepSample& sample : other_.samples) sample.set_count(uint64_t{2} * kBatch);
  Derail(&other_, 1, 2.2);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_BATCH_SIZE);
  EXPECT_THAT(finding.sentence(), HasSubstr("8 samples at W = 2 and of 4 at W = 1, 2 times"));
  EXPECT_THAT(finding.sentence(), HasSubstr("64 and 32"));
}

TEST_F(DiagnoseTest, OrderOfEachRank_NamesSamplesThatCameTwiceAndNever) {
  // Both halves of a batch come from the same positions: 8 samples twice, 8 never.
  Resample(&other_, [](const v1::LeafTrace&, uint64_t step) {
    const v1::LeafTrace of_rank_0 = MakeLeaf(0, step);
    return std::vector<int64_t>{of_rank_0.samples().begin(), of_rank_0.samples().end()};
  });
  Derail(&other_, 1, 2);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_SAMPLES_TWICE_OR_NEVER);
  EXPECT_THAT(finding.sentence(), HasSubstr("8 samples came more than once (0, 1, 4, 5, 8, ...)"));
  EXPECT_THAT(finding.sentence(), HasSubstr("8 samples came never (2, 3, 6, 7, 10, ...)"));
  EXPECT_THAT(finding.sentence(), HasSubstr("in epoch 1 at W = 2"));
}

TEST_F(DiagnoseTest, SameOrderEveryEpoch_NamesTheEpochs) {
  constexpr uint64_t kStepsOfEpoch = kSamples / kBatch;
  Resample(&other_, [](const v1::LeafTrace& leaf, uint64_t step) {
    const v1::LeafTrace of_epoch_0 = MakeLeaf(leaf.logical_rank(), (step - 1) % kStepsOfEpoch + 1);
    return std::vector<int64_t>{of_epoch_0.samples().begin(), of_epoch_0.samples().end()};
  });
  Derail(&other_, kStepsOfEpoch + 1, 2);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_SAME_ORDER_EVERY_EPOCH);
  EXPECT_THAT(finding.sentence(), HasSubstr("at W = 2 epoch 2 has the samples in the order of "
                                            "epoch 1 (0, 5, 10, 15, 4, ...), at W = 1 not"));
}

TEST_F(DiagnoseTest, OtherSamplesForNoReasonSeen_IsAnotherOrder) {
  Resample(&other_, [](const v1::LeafTrace& leaf, uint64_t) {
    return std::vector<int64_t>{leaf.samples().rbegin(), leaf.samples().rend()};
  });
  Derail(&other_, 1, 2);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_OTHER_ORDER);
  EXPECT_THAT(finding.sentence(), HasSubstr("the same samples in another order"));
}

TEST_F(DiagnoseTest, OtherLearningRate_HasStepAndBoth) {
  other_.samples[3].set_learning_rate(0.02);
  Derail(&other_, 5, 2);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_LEARNING_RATE);
  EXPECT_THAT(finding.sentence(), HasSubstr("step 4 is 0.02 at W = 2 and 0.01 at W = 1"));
}

TEST_F(DiagnoseTest, SameDrawsOnTwoRanks_IsTheSameMask) {
  for (RankTrace& rank : other_.ranks) {
    for (v1::StepTrace& step : rank.steps) {
      step.mutable_leaves(0)->set_first_draw(0xabc * step.step());
    }
  }
  Derail(&other_, 1, 1.1);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_SAME_DROPOUT_MASK);
  EXPECT_THAT(finding.sentence(), HasSubstr("logical ranks 0 and 1, on ranks 0 and 1 of W = 2"));
  EXPECT_THAT(finding.sentence(), HasSubstr("0000000000000abc"));
}

TEST_F(DiagnoseTest, OtherDrawsAtTheOtherSize_DependsOnTheRank) {
  other_.ranks[1].steps[0].mutable_leaves(0)->set_first_draw(0xdef);
  Derail(&other_, 1, 1.1);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_DROPOUT_BY_RANK);
  EXPECT_THAT(finding.sentence(), HasSubstr("logical rank 1 drew other random numbers on rank 1"));
}

TEST_F(DiagnoseTest, GradientHalf_IsAveragedTwice) {
  for (RankTrace& rank : other_.ranks) rank.steps[0].set_gradient_norm(1.25);
  Derail(&other_, 2, 1.1);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_GRADIENT_SCALE);
  EXPECT_THAT(finding.sentence(), HasSubstr("0.5 times as long at W = 2"));
  EXPECT_THAT(finding.sentence(), HasSubstr("averaged once too often"));
}

TEST_F(DiagnoseTest, GradientTwice_IsSummed) {
  for (RankTrace& rank : other_.ranks) rank.steps[0].set_gradient_norm(5);
  Derail(&other_, 2, 1.1);
  EXPECT_THAT(TheFinding().sentence(), HasSubstr("2 times as long at W = 2 as at W = 1 (norm 5 "
                                                 "against 2.5)"));
}

TEST_F(DiagnoseTest, StatisticsOfOneRank_AreBatchNorm) {
  other_.ranks[1].steps[1].mutable_tensors(2)->set_sha256("another");
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_BATCH_NORM_BY_RANK);
  EXPECT_THAT(finding.sentence(), HasSubstr("after step 2 rank 1 of W = 2 has another "
                                            "bn.running_mean than rank 0"));
}

TEST_F(DiagnoseTest, OnlyStatisticsDifferBetweenSizes_AreBatchNorm) {
  for (RankTrace& rank : other_.ranks) {
    rank.steps[1].mutable_tensors(2)->set_sha256("another");
  }
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_BATCH_NORM_BY_RANK);
  EXPECT_THAT(finding.sentence(), HasSubstr("bn.running_mean differs between W = 1 and W = 2"));
}

TEST_F(DiagnoseTest, ParameterOfOneRank_IsDrift) {
  other_.ranks[1].steps[1].mutable_tensors(0)->set_sha256("another");
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_RANKS_DRIFT);
  EXPECT_THAT(finding.sentence(), HasSubstr("after step 2 rank 1 of W = 2 has another fc.weight"));
}

TEST_F(DiagnoseTest, RanksThatDisagreeBeforeTheyWriteItDown_AreDrift) {
  EndInDisagreement(&other_, 3);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_RANKS_DRIFT);
  EXPECT_THAT(finding.sentence(), HasSubstr("W = 2 ended early: 'fc.weight' of rank 1"));
}

TEST_F(DiagnoseTest, RanksThatDisagreeBeforeTheFirstStep_HaveOtherInitialWeights) {
  EndInDisagreement(&other_, 0);
  other_.ranks.clear();
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_INITIAL_WEIGHTS);
  EXPECT_EQ(finding.world_size(), 2u);
}

TEST_F(DiagnoseTest, OtherThreads_HasBothCounts) {
  first_.ranks[0].header.set_threads(2);
  again_.ranks[0].header.set_threads(2);
  Derail(&other_, 1, 1 + 1e-8);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_THREADS);
  EXPECT_THAT(finding.sentence(),
              HasSubstr("1 thread on rank 0 of W = 2 and 2 on rank 0 of W = 1"));
}

TEST_F(DiagnoseTest, DifferenceOfRounding_IsTheOrderOfAdditions) {
  Derail(&other_, 1, 1 + 1e-7);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_ORDER_OF_ADDITIONS);
  EXPECT_THAT(finding.sentence(), HasSubstr("differs by 1e-07 of itself"));
}

TEST_F(DiagnoseTest, DifferenceOfNoKnownCause_SaysWhatWasRuledOut) {
  Derail(&other_, 1, 1.5);
  const v1::Finding finding = TheFinding();
  EXPECT_EQ(finding.diagnosis(), v1::DIAGNOSIS_UNKNOWN);
  EXPECT_THAT(finding.sentence(), HasSubstr("different initial weights"));
}

TEST_F(DiagnoseTest, TwoCauses_AreBothNamedTheEarlierFirst) {
  for (RankTrace& rank : other_.ranks) {
    rank.header.set_threads(2);
    rank.steps[0].set_gradient_norm(5);
  }
  Derail(&other_, 2, 1.1);
  const v1::Verification verdict = Judge({{first_, again_, other_}}, {});
  ASSERT_EQ(verdict.findings_size(), 2);
  EXPECT_EQ(verdict.diagnosis(), v1::DIAGNOSIS_GRADIENT_SCALE);
  EXPECT_EQ(verdict.findings(1).diagnosis(), v1::DIAGNOSIS_THREADS);
}

// What one size does on purpose at the other as well is no cause.
TEST_F(DiagnoseTest, SameInBothSizes_IsNotNamed) {
  const auto ascending = [](const v1::LeafTrace& leaf, uint64_t step) {
    const auto begin =
        static_cast<int64_t>((step - 1) * kBatch + uint64_t{2} * leaf.logical_rank());
    return std::vector<int64_t>{begin % kSamples, (begin + 1) % kSamples};
  };
  for (verify::Run* run : {&first_, &again_, &other_}) Resample(run, ascending);
  Derail(&other_, 1, 1.5);
  EXPECT_EQ(TheFinding().diagnosis(), v1::DIAGNOSIS_UNKNOWN);
}

// A batch twice as large comes to the second epoch sooner; that this is in the same order, where
// nothing is shuffled, is not why.
TEST_F(DiagnoseTest, EpochThatTheFirstDidNotReach_IsNotCompared) {
  const auto ascending = [](int share) {
    return [share](const v1::LeafTrace& leaf, uint64_t step) {
      std::vector<int64_t> ids;
      for (int i = 0; i < share; ++i) {
        const auto at = static_cast<int64_t>((step - 1) * kLogicalRanks + leaf.logical_rank());
        ids.push_back((at * share + i) % (int64_t{2} * kSamples));
      }
      return ids;
    };
  };
  for (verify::Run* run : {&first_, &again_}) {
    Resample(run, ascending(kBatch / 2));
    for (v1::StepTrace& step : run->ranks[0].steps) step.set_epoch(0);
  }
  Resample(&other_, ascending(kBatch));
  Derail(&other_, 1, 1.5);
  EXPECT_EQ(TheFinding().diagnosis(), v1::DIAGNOSIS_BATCH_SIZE);
}

}  // namespace
}  // namespace tandem::verify
