#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "worker/device/tree_sum_kernel.h"
#include "worker/device/tree_sum_plan.h"
#include "worker/device/tree_sum_scene.h"

namespace tandem::device {
namespace {

constexpr float kScale = 1.0F / 48;

struct Grid {
  int64_t threads;
  uint32_t rows;
};
const std::vector<Grid> kGrids = {{1, 1}, {3, 2}, {64, 1}, {257, 5}};

// Borders that are no multiples of four, and segments without elements.
const std::vector<int64_t> kSegments = {5, 0, 16, 1, 3, 7, 64, 0, 0, 2, 33};

std::vector<TreeShape> AllShapes() {
  std::vector<TreeShape> shapes;
  for (const auto& [world_size, leaves] : std::vector<std::pair<uint32_t, uint32_t>>{{1, 1},
                                                                                     {1, 8},
                                                                                     {2, 2},
                                                                                     {3, 4},
                                                                                     {3, 8},
                                                                                     {5, 8},
                                                                                     {7, 8},
                                                                                     {8, 8},
                                                                                     {5, 64},
                                                                                     {33, 64},
                                                                                     {64, 64}}) {
    for (const double absent : {0.0, 0.3, 0.9, 1.0}) {
      for (const Addresses addresses : {Addresses::kTogether, Addresses::kApart}) {
        shapes.push_back({world_size, leaves, kSegments, absent, addresses});
      }
    }
  }
  return shapes;
}

TEST(TreeSumTest, AnyShapeAndGrid_IsTheDefinition) {
  uint64_t seed = 1;
  for (const TreeShape& shape : AllShapes()) {
    TreeScene scene(shape, ++seed);
    const std::vector<float> expected = scene.Definition(AddNodes, kScale);
    for (const Grid& grid : kGrids) {
      float* sum = scene.NewSum();
      AddOnGrid(scene.Sum(sum, kScale), grid.threads, grid.rows);
      EXPECT_TRUE(SameFloats(expected, sum))
          << shape.world_size << " ranks, " << shape.logical_ranks << " leaves, absent "
          << shape.absent << ", " << grid.threads << " threads in " << grid.rows << " rows";
    }
  }
}

TEST(TreeSumTest, SumIsTheFirstBlock_SameBits) {
  TreeScene scene({4, 4, kSegments}, 3);
  const std::vector<float> expected = scene.Definition(AddNodes, kScale);
  auto* first = const_cast<float*>(scene.blocks()[0].values);
  AddOnGrid(scene.Sum(first, kScale), 64, 1);
  EXPECT_TRUE(SameFloats(expected, first));
}

TEST(TreeSumTest, AlignedTogether_MostlyVectors) {
  TreeScene scene({2, 2, {1003}}, 4);
  const TreePlan plan = PlanTreeSum(scene.Sum(scene.NewSum(), 1)).value();
  ASSERT_EQ(plan.runs.size(), 1);
  EXPECT_EQ(VectorsOf(plan.runs[0]), 250);
  EXPECT_EQ(PiecesOf(plan.runs[0]), 250 + 3);
}

TEST(TreeSumTest, SameBlocksEverywhere_OneRun) {
  TreeScene scene({8, 8, kSegments}, 5);
  EXPECT_EQ(PlanTreeSum(scene.Sum(scene.NewSum(), 1))->runs.size(), 1);
}

TEST(TreeSumTest, BlocksOfTwoNodes_IsRefused) {
  TreeScene scene({4, 4, {8}}, 6);
  TreeSum sum = scene.Sum(scene.NewSum(), 1);
  sum.blocks.pop_back();
  EXPECT_EQ(PlanTreeSum(sum).status().code(), absl::StatusCode::kInternal);
}

// What must be seen if it were done: each of these is another sum.

bool IsTheSum(TreeScene& scene, const std::vector<float>& other) {
  float* sum = scene.NewSum();
  AddOnGrid(scene.Sum(sum, kScale), 64, 2);
  return SameFloats(other, sum);
}

// From the blocks that the element has, in any way.
template <typename Fold>
std::vector<float> OfEach(const TreeScene& scene, const Fold& fold) {
  std::vector<float> sums;
  for (int64_t element = 0; element < scene.offsets().back(); ++element) {
    std::vector<float> values;
    for (const TreeSum::Block& block : scene.blocks()) {
      if (const auto value = scene.At(block, element)) values.push_back(*value);
    }
    sums.push_back(values.empty() ? TreeScene::kUntouched : fold(values));
  }
  return sums;
}

class TreeSumControl : public testing::Test {
 protected:
  TreeScene eight_{{8, 8, std::vector<int64_t>(20, 31), 0.2}, 7};
  TreeScene two_{{2, 2, std::vector<int64_t>(20, 31)}, 8};
};

TEST_F(TreeSumControl, Tree_HasTheBits) {
  EXPECT_TRUE(IsTheSum(eight_, eight_.Definition(AddNodes, kScale)));
  EXPECT_TRUE(IsTheSum(two_, two_.Definition(AddNodes, kScale)));
}

TEST_F(TreeSumControl, LeftFold_HasOtherBits) {
  const auto fold = [](const std::vector<float>& values) {
    float sum = values[0];
    for (size_t i = 1; i < values.size(); ++i) sum += values[i];
    return sum * kScale;
  };
  EXPECT_FALSE(IsTheSum(eight_, OfEach(eight_, fold)));
}

TEST_F(TreeSumControl, ZerosForAbsent_HaveOtherBits) {
  TreeScene sparse({2, 2, std::vector<int64_t>(20, 31), 0.5}, 9);
  const auto with_zeros = [](TreeScene::Value left, TreeScene::Value right) -> TreeScene::Value {
    if (!left && !right) return std::nullopt;
    return left.value_or(0) + right.value_or(0);
  };
  EXPECT_TRUE(IsTheSum(sparse, sparse.Definition(AddNodes, kScale)));
  EXPECT_FALSE(IsTheSum(sparse, sparse.Definition(with_zeros, kScale)));
}

TEST_F(TreeSumControl, ScaleBeforeTheSum_HasOtherBits) {
  const auto scaled = [](TreeScene::Value left, TreeScene::Value right) -> TreeScene::Value {
    return *left * kScale + *right * kScale;
  };
  EXPECT_FALSE(IsTheSum(two_, two_.Definition(scaled, 1)));
}

// What a compiler may make of left * scale + right * scale.
TEST_F(TreeSumControl, ContractedMultiplyAdd_HasOtherBits) {
  const auto contracted = [](TreeScene::Value left, TreeScene::Value right) -> TreeScene::Value {
    return std::fma(*right, kScale, *left * kScale);
  };
  EXPECT_FALSE(IsTheSum(two_, two_.Definition(contracted, 1)));
}

// A kernel that deals the blocks of an element out to its threads would depend on their number.
TEST_F(TreeSumControl, BlocksDealtToThreads_DependOnTheGrid) {
  const auto dealt_to = [this](size_t threads) {
    return OfEach(eight_, [threads](const std::vector<float>& values) {
      std::vector<float> partial(threads, 0);
      for (size_t i = 0; i < values.size(); ++i) partial[i % threads] += values[i];
      float sum = 0;
      for (const float value : partial) sum += value;
      return sum * kScale;
    });
  };
  EXPECT_FALSE(SameFloats(dealt_to(2), dealt_to(3).data()));
}

}  // namespace
}  // namespace tandem::device
