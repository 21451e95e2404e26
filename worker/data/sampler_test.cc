#include "worker/data/sampler.h"

#include <algorithm>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tandem::data {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

v1::JobSpec Spec(uint32_t batch, uint32_t logical_ranks) {
  v1::JobSpec spec;
  spec.set_seed(0);
  spec.set_global_batch_size(batch);
  spec.set_logical_ranks(logical_ranks);
  spec.set_epochs(1);
  spec.mutable_data()->set_shuffle(true);
  spec.mutable_data()->set_drop_last(false);
  return spec;
}

Sampler MakeSampler(int64_t samples, const v1::JobSpec& spec) {
  return *Sampler::Create(spec, samples);
}

std::vector<int64_t> OrderOf(uint64_t seed, uint64_t epoch) {
  v1::JobSpec spec = Spec(8, 2);
  spec.set_seed(seed);
  return MakeSampler(8, spec).Order(epoch);
}

// The samples of all logical ranks over one epoch, in logical rank order within a batch.
std::vector<int64_t> Visited(const Sampler& sampler, uint32_t logical_ranks) {
  const std::vector<int64_t> order = sampler.Order(0);
  std::vector<int64_t> visited;
  for (uint64_t batch = 0; batch < sampler.batches_per_epoch(); ++batch) {
    for (uint32_t l = 0; l < logical_ranks; ++l) {
      const Range share = sampler.Share(batch, LogicalRank(l));
      visited.insert(visited.end(), order.begin() + share.begin, order.begin() + share.end);
    }
  }
  return visited;
}

TEST(Sampler, AnyShape_LogicalRanksVisitEachSampleOnceInGlobalOrder) {
  for (int64_t samples = 1; samples <= 20; ++samples) {
    for (uint32_t logical_ranks : {1, 2, 4, 8, 16}) {
      for (uint32_t batch = 1; batch <= 24; ++batch) {
        const Sampler sampler = MakeSampler(samples, Spec(batch, logical_ranks));
        // Equal sequences: nothing twice, nothing left out, and the global batch is that of one
        // rank.
        ASSERT_EQ(Visited(sampler, logical_ranks), sampler.Order(0))
            << samples << " samples, batch " << batch << ", " << logical_ranks << " logical ranks";
      }
    }
  }
}

TEST(Sampler, AnyShape_FirstWithShareHasOneAndNoneBeforeIt) {
  for (int64_t samples = 1; samples <= 20; ++samples) {
    for (uint32_t logical_ranks : {1, 2, 4, 8, 16}) {
      const Sampler sampler = MakeSampler(samples, Spec(24, logical_ranks));
      const uint32_t first = sampler.FirstWithShare(0).value();
      for (uint32_t l = 0; l <= first; ++l) {
        EXPECT_EQ(sampler.Share(0, LogicalRank(l)).empty(), l < first) << samples << " " << l;
      }
    }
  }
}

TEST(Sampler, AnyShape_SharesDifferByAtMostOne) {
  for (int64_t size = 0; size <= 40; ++size) {
    for (uint32_t parts : {1, 2, 4, 8, 16}) {
      for (uint32_t part = 0; part < parts; ++part) {
        const int64_t part_size = PartOf({3, 3 + size}, part, parts).size();
        ASSERT_GE(part_size, size / parts);
        ASSERT_LE(part_size, (size + parts - 1) / parts);
      }
    }
  }
}

TEST(Sampler, FiveSamplesOnTwo_NoneCountedTwice) {
  v1::JobSpec spec = Spec(5, 2);
  spec.mutable_data()->set_shuffle(false);
  const Sampler sampler = MakeSampler(5, spec);
  EXPECT_EQ(sampler.Share(0, LogicalRank(0)), (Range{0, 2}));
  EXPECT_EQ(sampler.Share(0, LogicalRank(1)), (Range{2, 5}));
  EXPECT_THAT(sampler.Order(0), ElementsAre(0, 1, 2, 3, 4));
}

TEST(Sampler, OneSampleOnFour_ThreeSharesAreEmpty) {
  const Sampler sampler = MakeSampler(1, Spec(4, 4));
  std::vector<int64_t> sizes;
  for (uint32_t l = 0; l < 4; ++l) sizes.push_back(sampler.Share(0, LogicalRank(l)).size());
  EXPECT_THAT(sizes, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(sampler.Order(0), ElementsAre(0));
}

TEST(Sampler, Epochs_HaveOrdersOfTheirOwnWithNothingToCall) {
  EXPECT_NE(OrderOf(0, 0), OrderOf(0, 1));
  EXPECT_EQ(OrderOf(0, 1), OrderOf(0, 1));
}

// CASES F1.
TEST(Sampler, SeedAndEpoch_DoNotCollapseIntoTheirSum) { EXPECT_NE(OrderOf(0, 1), OrderOf(1, 0)); }

TEST(Sampler, ManySeedsAndEpochs_AllOrdersDiffer) {
  std::set<std::vector<int64_t>> orders;
  v1::JobSpec spec = Spec(8, 2);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    spec.set_seed(seed);
    for (uint64_t epoch = 0; epoch < 20; ++epoch) orders.insert(MakeSampler(30, spec).Order(epoch));
  }
  EXPECT_EQ(orders.size(), 400u);
}

TEST(Sampler, BatchSize_IsGlobalAtEveryNumberOfLogicalRanks) {
  for (uint32_t logical_ranks : {1, 2, 4, 8}) {
    const Sampler sampler = MakeSampler(64, Spec(8, logical_ranks));
    EXPECT_EQ(sampler.batches_per_epoch(), 8u);
    EXPECT_EQ(sampler.Batch(3), (Range{24, 32}));
  }
}

TEST(Sampler, ShortLastBatch_IsCutByTheSameRule) {
  const Sampler sampler = MakeSampler(10, Spec(8, 4));
  EXPECT_EQ(sampler.batches_per_epoch(), 2u);
  EXPECT_EQ(sampler.Batch(1), (Range{8, 10}));
  EXPECT_TRUE(sampler.Share(1, LogicalRank(0)).empty());
  EXPECT_EQ(sampler.Share(1, LogicalRank(1)), (Range{8, 9}));
}

TEST(Sampler, DropLast_DropsTheShortBatch) {
  v1::JobSpec spec = Spec(8, 4);
  spec.mutable_data()->set_drop_last(true);
  EXPECT_EQ(MakeSampler(23, spec).batches_per_epoch(), 2u);
  const absl::Status refused = Sampler::Create(spec, 7).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), StartsWith("data.drop_last: "));
}

TEST(Sampler, Length_ComesFromStepsOrEpochs) {
  v1::JobSpec spec = Spec(8, 4);
  spec.set_epochs(3);
  EXPECT_EQ(MakeSampler(20, spec).total_steps(), 9u);
  spec.clear_epochs();
  spec.set_steps(7);
  const Sampler sampler = MakeSampler(20, spec);
  EXPECT_EQ(sampler.total_steps(), 7u);
  EXPECT_EQ(sampler.At(6).epoch, 2u);
  EXPECT_EQ(sampler.At(6).batch, 0u);
}

TEST(Sampler, LengthBeyondCounting_IsRefusedByKey) {
  v1::JobSpec spec = Spec(8, 4);
  spec.set_epochs(UINT64_MAX);
  EXPECT_THAT(std::string(Sampler::Create(spec, 20).status().message()), StartsWith("epochs: "));
  spec.clear_epochs();
  spec.set_steps(UINT64_MAX);
  EXPECT_THAT(std::string(Sampler::Create(spec, 20).status().message()), StartsWith("steps: "));
}

}  // namespace
}  // namespace tandem::data
