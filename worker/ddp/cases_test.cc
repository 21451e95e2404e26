// Public failures of gradient averaging; the numbers are those of docs/cases.md.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "worker/ddp/leaf_tallies.h"
#include "worker/ddp/loopback_transport.h"
#include "worker/ddp/reduction_scene.h"

namespace tandem::ddp {
namespace {

// Rank 0's gradient of the only parameter, a scalar, where each leaf adds up `leaves[i]`.
float GradientOn(uint32_t world_size, const std::vector<float>& leaves, uint64_t count) {
  ReductionScene scene = {.shapes = {{1}}, .leaves = {}, .count = count};
  for (const float leaf : leaves) scene.leaves.push_back({at::full({1}, leaf)});
  float gradient = 0;
  RunRanks(world_size, [&](Transport& transport) {
    const auto result = Reduce(scene, transport);
    ASSERT_TRUE(result.ok()) << result.status();
    if (transport.rank() == Rank(0)) gradient = result->at(0).item<float>();
  });
  return gradient;
}

Tally TallyOf(double loss_sum, uint64_t count) {
  Tally tally;
  tally.loss_sum = loss_sum;
  tally.count = count;
  return tally;
}

// Rank 0's total.
Tally TotalOn(uint32_t world_size, const std::vector<Tally>& leaves) {
  Tally total;
  RunRanks(world_size, [&](Transport& transport) {
    LeafTallies tallies(transport, static_cast<uint32_t>(leaves.size()), 0);
    const LogicalRange range = LogicalRangeOf(transport.rank(), world_size, leaves.size());
    std::vector<std::optional<Tally>> own(leaves.begin() + range.begin, leaves.begin() + range.end);
    tallies.Start(TallyUse::kStep, 0, own);
    const auto result = tallies.Wait();
    ASSERT_TRUE(result.ok()) << result.status();
    if (transport.rank() == Rank(0)) total = *result;
  });
  return total;
}

// d/dw mean(x w) for x = 1..8 is 4.5: neither divided nor multiplied by the number of ranks.
TEST(Case10And11, MeanOverEightSamples_IsNotScaledByTheWorldSize) {
  for (const uint32_t world_size : {1, 2}) {
    EXPECT_EQ(GradientOn(world_size, {1 + 2 + 3 + 4, 5 + 6 + 7 + 8}, 8), 4.5f) << world_size;
  }
}

// A mean of the ranks' means would be (1.0 + 3.0) / 2.
TEST(Case13, SharesOfFiveAndThree_AreWeightedByTheirCounts) {
  for (const uint32_t world_size : {1, 2}) {
    EXPECT_EQ(GradientOn(world_size, {5 * 1.0f, 3 * 3.0f}, 8), 1.75f) << world_size;
  }
}

// One token with loss 4 and three with loss 1: a mean of means would be 2.5.
TEST(Case14, OneTokenAndThreeTokens_CountByToken) {
  for (const uint32_t world_size : {1, 2}) {
    const Tally total = TotalOn(world_size, {TallyOf(4, 1), TallyOf(3, 3)});
    EXPECT_EQ(total.loss_sum / static_cast<double>(total.count), 1.75) << world_size;
    EXPECT_EQ(GradientOn(world_size, {4, 3}, 4), 1.75f) << world_size;
  }
}

TEST(Case16, LossesOfOneAndThree_AreReportedAsTwo) {
  for (const uint32_t world_size : {1, 2}) {
    const Tally total = TotalOn(world_size, {TallyOf(1, 1), TallyOf(3, 1)});
    EXPECT_EQ(total.loss_sum / static_cast<double>(total.count), 2.0) << world_size;
  }
}

}  // namespace
}  // namespace tandem::ddp
