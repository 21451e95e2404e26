#include "worker/ddp/leaf_tallies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "worker/ddp/loopback_transport.h"

namespace tandem::ddp {
namespace {

using ::testing::HasSubstr;
using Leaves = std::vector<std::optional<Tally>>;

// Losses whose sum depends on the order of the additions.
Leaves EightLeaves() {
  Leaves leaves;
  for (uint64_t i = 0; i < 8; ++i) leaves.push_back(Tally{1.0 / (3.0 + 1e9 * (i % 3)), i, i / 2});
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
      EXPECT_EQ(*total, (Tally{TreeLoss(leaves, 0, 8), 23, 10})) << world_size << " ranks";
    });
  }
}

TEST(LeafTalliesTest, FoldFromTheLeft_Differs) {
  double folded = 0;
  for (const auto& leaf : EightLeaves()) folded += leaf.value_or(Tally()).loss_sum;
  EXPECT_NE(folded, TreeLoss(EightLeaves(), 0, 8));
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
