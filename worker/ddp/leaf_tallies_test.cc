#include "worker/ddp/leaf_tallies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "worker/ddp/loopback_transport.h"

namespace tandem::ddp {
namespace {

using ::testing::HasSubstr;
using Leaves = std::vector<std::optional<Tally>>;

// Losses whose sum depends on the order of the additions.
Leaves EightLeaves() {
  Leaves leaves;
  for (uint64_t i = 0; i < 8; ++i) {
    leaves.push_back(Tally{.loss_sum = 1.0 / (3.0 + 1e9 * (i % 3)), .count = i, .correct = i / 2});
  }
  leaves[5].reset();
  return leaves;
}

double TreeLoss(const Leaves& leaves, size_t begin, size_t size) {
  if (size == 1) return leaves[begin].value_or(Tally()).loss_sum;
  return TreeLoss(leaves, begin, size / 2) + TreeLoss(leaves, begin + size / 2, size / 2);
}

absl::StatusOr<Tally> ReduceShare(Transport& transport, const Leaves& leaves, uint64_t step,
                                  TallyUse use = TallyUse::kStep) {
  const uint32_t logical_ranks = static_cast<uint32_t>(leaves.size());
  LeafTallies tallies(transport, logical_ranks, 0);
  const LogicalRange own = LogicalRangeOf(transport.rank(), transport.world_size(), logical_ranks);
  tallies.Start(use, step, absl::MakeSpan(leaves).subspan(own.begin, own.end - own.begin));
  return tallies.Wait();
}

TEST(LeafTalliesTest, EveryWorldSizeAndRank_SameTotal) {
  const Leaves leaves = EightLeaves();
  for (const uint32_t world_size : {1, 2, 3, 4, 5, 8}) {
    RunRanks(world_size, [&](Transport& transport) {
      const auto total = ReduceShare(transport, leaves, 0);
      ASSERT_TRUE(total.ok()) << total.status();
      EXPECT_EQ(total->loss_sum, TreeLoss(leaves, 0, 8)) << world_size << " ranks";
      EXPECT_EQ(total->count, 23);
      EXPECT_EQ(total->correct, 10);
    });
  }
}

TEST(LeafTalliesTest, FoldFromTheLeft_Differs) {
  double folded = 0;
  for (const auto& leaf : EightLeaves()) folded += leaf.value_or(Tally()).loss_sum;
  EXPECT_NE(folded, TreeLoss(EightLeaves(), 0, 8));
}

// That of the total over eight leaves of three samples each; leaf 3 has none.
uint64_t DigestOn(uint32_t world_size, const std::vector<int64_t>& samples) {
  Leaves leaves(8);
  for (size_t i = 0; i < 8; ++i) {
    const auto share = absl::MakeSpan(samples).subspan(3 * i, 3);
    if (i != 3) leaves[i] = Tally{.count = 3, .samples_digest = DigestOfSamples(share)};
  }
  std::vector<uint64_t> digests(world_size);
  RunRanks(world_size, [&](Transport& transport) {
    digests[transport.rank().value()] = ReduceShare(transport, leaves, 0)->samples_digest;
  });
  EXPECT_THAT(digests, testing::Each(digests[0]));
  return digests[0];
}

class SamplesDigestTest : public testing::Test {
 protected:
  SamplesDigestTest() { std::iota(samples_.begin(), samples_.end(), 100); }

  std::vector<int64_t> samples_ = std::vector<int64_t>(24);
};

TEST_F(SamplesDigestTest, EveryWorldSize_Same) {
  for (const uint32_t world_size : {2, 3, 4, 5, 8}) {
    EXPECT_EQ(DigestOn(world_size, samples_), DigestOn(1, samples_)) << world_size << " ranks";
  }
}

TEST_F(SamplesDigestTest, TwoSamplesSwapped_Differs) {
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(2, 4), std::pair(1, 22)}) {
    std::vector<int64_t> swapped = samples_;
    std::swap(swapped[a], swapped[b]);
    EXPECT_NE(DigestOn(2, swapped), DigestOn(2, samples_)) << a << " and " << b;
  }
}

TEST_F(SamplesDigestTest, SampleRepeatedInPlaceOfAnother_Differs) {
  std::vector<int64_t> repeated = samples_;
  repeated[7] = repeated[6];
  EXPECT_NE(DigestOn(2, repeated), DigestOn(2, samples_));
}

TEST_F(SamplesDigestTest, OneSampleMoreOrLess_Differs) {
  const auto samples = absl::MakeSpan(samples_);
  EXPECT_NE(DigestOfSamples(samples.first(3)), DigestOfSamples(samples.first(4)));
  EXPECT_NE(DigestOfSamples({}), DigestOfSamples({0}));
}

TEST(LeafTalliesTest, PausesOfEmptyShares_AreCountedAndChangeNothingElse) {
  const Leaves absent = {Tally{.loss_sum = -0.0, .count = 1, .samples_digest = 7},
                         std::nullopt,
                         std::nullopt,
                         Tally{.loss_sum = -0.0, .count = 2, .samples_digest = 9},
                         std::nullopt,
                         std::nullopt,
                         std::nullopt,
                         std::nullopt};
  Leaves asked = absent;
  for (const size_t leaf : {2, 6, 7}) asked[leaf] = Tally{.pauses = 1};
  for (const uint32_t world_size : {1, 2, 3, 8}) {
    RunRanks(world_size, [&](Transport& transport) {
      auto without = ReduceShare(transport, absent, 0);
      const auto total = ReduceShare(transport, asked, 1);
      ASSERT_TRUE(without.ok() && total.ok());
      EXPECT_TRUE(std::signbit(total->loss_sum)) << "a zero was added";
      without->pauses = 3;
      EXPECT_EQ(*total, *without) << world_size << " ranks";
    });
  }
}

TEST(LeafTalliesTest, AllAbsent_TotalIsZero) {
  RunRanks(3,
           [](Transport& transport) { EXPECT_EQ(*ReduceShare(transport, Leaves(4), 0), Tally()); });
}

TEST(LeafTalliesTest, RankAtAnotherStep_Named) {
  RunRanks(2, [](Transport& transport) {
    const auto total = ReduceShare(transport, Leaves(2), 7 + transport.rank().value());
    EXPECT_EQ(total.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(total.status().message()), HasSubstr("step 8"));
  });
}

TEST(LeafTalliesTest, RankMeasuresWhileOtherTrains_Refused) {
  RunRanks(2, [](Transport& transport) {
    const TallyUse use = transport.rank() == Rank(0) ? TallyUse::kStep : TallyUse::kEvaluation;
    const auto total = ReduceShare(transport, Leaves(2), 7, use);
    EXPECT_EQ(total.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(total.status().message()), HasSubstr("the evaluation of step 7"));
  });
}

TEST(LeafTalliesTest, WrongNumberOfLeaves_InvalidArgument) {
  RunRanks(1, [](Transport& transport) {
    LeafTallies tallies(transport, 2, 0);
    tallies.Start(TallyUse::kStep, 0, Leaves(1));
    EXPECT_EQ(tallies.Wait().status().code(), absl::StatusCode::kInvalidArgument);
  });
}

TEST(LeafTalliesTest, WaitWithoutStart_FailedPrecondition) {
  RunRanks(1, [](Transport& transport) {
    LeafTallies tallies(transport, 1, 0);
    EXPECT_EQ(tallies.Wait().status().code(), absl::StatusCode::kFailedPrecondition);
  });
}

}  // namespace
}  // namespace tandem::ddp
