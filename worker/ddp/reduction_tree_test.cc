#include "worker/ddp/reduction_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>

namespace tandem::ddp {
namespace {

struct AddNames {
  std::string operator()(std::string left, std::string right) const {
    return "(" + left + "+" + right + ")";
  }
};
using NameTree = TreeAccumulator<std::string, AddNames>;

// The definition: a node adds its halves.
std::string Definition(Block node) {
  if (node.size == 1) return std::to_string(node.begin);
  const uint32_t half = node.size / 2;
  return AddNames()(Definition({node.begin, half}), Definition({node.begin + half, half}));
}

NameTree SumRange(LogicalRange range) {
  NameTree tree({});
  for (uint32_t leaf = range.begin; leaf < range.end; ++leaf)
    tree.Push({leaf}, std::to_string(leaf));
  return tree;
}

std::string SumOverRanks(uint32_t world_size, uint32_t leaves) {
  NameTree root({});
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    const NameTree own = SumRange(LogicalRangeOf(Rank(rank), world_size, leaves));
    for (const auto& [block, value] : own.nodes()) root.Push(block, value);
  }
  return root.nodes().size() == 1 ? root.nodes()[0].value : "not one node";
}

std::string FoldLeft(uint32_t leaves) {
  std::string sum = "0";
  for (uint32_t leaf = 1; leaf < leaves; ++leaf) sum = AddNames()(sum, std::to_string(leaf));
  return sum;
}

TEST(ReductionTreeTest, AnyWorldSize_SameAssociation) {
  for (uint32_t leaves = 1; leaves <= 16; leaves *= 2) {
    for (uint32_t world_size = 1; world_size <= leaves; ++world_size) {
      EXPECT_EQ(SumOverRanks(world_size, leaves), Definition({0, leaves}))
          << world_size << " ranks, " << leaves << " leaves";
    }
  }
}

TEST(ReductionTreeTest, FoldFromTheLeft_IsAnotherAssociation) {
  EXPECT_NE(FoldLeft(4), Definition({0, 4}));
  EXPECT_EQ(FoldLeft(2), Definition({0, 2}));
}

TEST(ReductionTreeTest, AlignedBlocks_AreWhatTheAccumulatorHasLeft) {
  for (uint32_t begin = 0; begin < 16; ++begin) {
    for (uint32_t end = begin + 1; end <= 16; ++end) {
      std::vector<Block> left;
      const NameTree tree = SumRange({begin, end});
      for (const auto& node : tree.nodes()) left.push_back(node.block);
      EXPECT_EQ(AlignedBlocks({begin, end}), left) << begin << " to " << end;
    }
  }
}

TEST(ReductionTreeTest, LeavesOfABlock_HoldAtMostLogarithmOfThem) {
  NameTree tree({});
  for (uint32_t leaf = 0; leaf < 64; ++leaf) {
    tree.Push({leaf}, "x");
    EXPECT_LE(tree.nodes().size(), std::bit_width(leaf + 1u));
  }
}

TEST(ReductionTreeTest, BlocksPerRank_OneForPowersOfTwoAndFewElse) {
  for (uint32_t leaves = 4; leaves <= 64; leaves *= 2) {
    const size_t bound = 2 * std::bit_width(leaves) - 4;
    for (uint32_t world_size = 1; world_size <= leaves; ++world_size) {
      const size_t most = MaxBlocksPerRank(world_size, leaves);
      EXPECT_LE(most, std::has_single_bit(world_size) ? 1 : bound);
    }
  }
}

TEST(ReductionTreeTest, AbsentChild_OtherOneIsTakenOver) {
  using MaybeName = std::optional<std::string>;
  const AddPresent<AddNames> add;
  EXPECT_EQ(add(MaybeName("a"), MaybeName()), "a");
  EXPECT_EQ(add(MaybeName(), MaybeName("b")), "b");
  EXPECT_EQ(add(MaybeName("a"), MaybeName("b")), "(a+b)");
  EXPECT_EQ(add(MaybeName(), MaybeName()), std::nullopt);
}

TEST(ReductionTreeTest, ShapesThatAreNoTree_Refused) {
  EXPECT_TRUE(CheckTreeShape(1, 1).ok());
  EXPECT_TRUE(CheckTreeShape(5, 8).ok());
  for (const auto& [world_size, leaves] : {std::pair(1, 0), {1, 3}, {0, 4}, {5, 4}}) {
    EXPECT_EQ(CheckTreeShape(world_size, leaves).code(), absl::StatusCode::kInvalidArgument)
        << world_size << " of " << leaves;
  }
}

}  // namespace
}  // namespace tandem::ddp
