#include "worker/ddp/leaf_fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "worker/ddp/loopback_transport.h"

namespace tandem::ddp {
namespace {

using ::testing::HasSubstr;
using Values = LeafFold::Values;
using Leaves = std::vector<std::optional<Values>>;

// Count, mean and sum of squared distances from it: neither commutes nor associates in its bits.
Values Combine(const Values& left, const Values& right) {
  const double count = left[0] + right[0];
  const double delta = right[1] - left[1];
  return {count, left[1] + delta * right[0] / count,
          left[2] + right[2] + delta * delta * left[0] * right[0] / count};
}

Leaves EightLeaves() {
  Leaves leaves;
  for (int i = 0; i < 8; ++i)
    leaves.push_back(Values{3.0 + i, i * i + 1.0 / (7.0 + i * i), 0.1 * i});
  leaves[2].reset();
  leaves[5].reset();
  return leaves;
}

std::optional<Values> Definition(const Leaves& leaves, size_t begin, size_t size) {
  if (size == 1) return leaves[begin];
  const auto left = Definition(leaves, begin, size / 2);
  const auto right = Definition(leaves, begin + size / 2, size / 2);
  if (!left) return right;
  return right ? Combine(*left, *right) : left;
}

absl::StatusOr<std::optional<Values>> FoldShare(Transport& transport, const Leaves& leaves,
                                                LeafFold::Place place = {}) {
  LeafFold fold(transport, static_cast<uint32_t>(leaves.size()), 0);
  place.width = 3;
  const LogicalRange own = fold.range();
  return fold.Fold(place, absl::MakeSpan(leaves).subspan(own.begin, own.end - own.begin), Combine);
}

TEST(LeafFoldTest, EveryWorldSizeAndRank_IsTheDefinition) {
  const Leaves leaves = EightLeaves();
  for (const uint32_t world_size : {1, 2, 3, 4, 5, 8}) {
    RunRanks(world_size, [&](Transport& transport) {
      const auto folded = FoldShare(transport, leaves);
      ASSERT_TRUE(folded.ok()) << folded.status();
      EXPECT_EQ(*folded, Definition(leaves, 0, 8)) << world_size << " ranks";
    });
  }
}

TEST(LeafFoldTest, FoldFromTheLeft_Differs) {
  const Leaves leaves = EightLeaves();
  Values folded = *leaves[0];
  for (size_t i = 1; i < 8; ++i) {
    if (leaves[i]) folded = Combine(folded, *leaves[i]);
  }
  EXPECT_NE(folded, Definition(leaves, 0, 8));
}

TEST(LeafFoldTest, AllAbsent_ResultIsAbsent) {
  RunRanks(3,
           [](Transport& transport) { EXPECT_EQ(*FoldShare(transport, Leaves(4)), std::nullopt); });
}

TEST(LeafFoldTest, SeveralOperationsOfOneObject_EachItsOwn) {
  RunRanks(2, [](Transport& transport) {
    LeafFold fold(transport, 2, 0);
    const auto sum = [](const Values& left, const Values& right) {
      return Values{left[0] + right[0]};
    };
    for (uint32_t operation = 0; operation < 3; ++operation) {
      const auto folded = fold.Fold({.step = 4, .operation = operation, .width = 1},
                                    {Values{1.0 + operation}}, sum);
      EXPECT_EQ(**folded, Values{2.0 + 2 * operation});
    }
  });
}

TEST(LeafFoldTest, RankAtAnotherOperation_Named) {
  RunRanks(2, [](Transport& transport) {
    const LeafFold::Place place = {.step = 7, .operation = 4 + transport.rank().value()};
    const auto folded = FoldShare(transport, Leaves(2), place);
    EXPECT_EQ(folded.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(folded.status().message()), HasSubstr("fold 5 of step 7"));
  });
}

TEST(LeafFoldTest, LeavesThatDoNotFit_InvalidArgument) {
  const std::pair<LeafFold::Place, Leaves> wrong[] = {
      {{.width = 3}, Leaves(1)},
      {{.width = 3}, {Values(3), Values(2)}},
      {{.operation = LeafFold::kMaxOperations, .width = 3}, Leaves(2)},
  };
  RunRanks(1, [&](Transport& transport) {
    for (const auto& [place, leaves] : wrong) {
      const auto folded = LeafFold(transport, 2, 0).Fold(place, leaves, Combine);
      EXPECT_EQ(folded.status().code(), absl::StatusCode::kInvalidArgument);
    }
  });
}

}  // namespace
}  // namespace tandem::ddp
