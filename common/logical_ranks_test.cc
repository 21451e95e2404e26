#include "common/logical_ranks.h"

#include "gtest/gtest.h"

namespace tandem {
namespace {

static_assert(LogicalRangeOf(Rank(1), 3, 8) == LogicalRange{2, 5});
static_assert(LogicalRangeOf(Rank(1023), 1024, 1024) == LogicalRange{1023, 1024});

TEST(LogicalRangeOf, EveryWorldSize_CoversAllOnceWithSizesThatDifferByAtMostOne) {
  constexpr uint32_t kLogicalRanks = 64;
  for (uint32_t world_size = 1; world_size <= kLogicalRanks; ++world_size) {
    uint32_t next = 0;
    for (uint32_t rank = 0; rank < world_size; ++rank) {
      const LogicalRange range = LogicalRangeOf(Rank(rank), world_size, kLogicalRanks);
      EXPECT_EQ(range.begin, next);
      EXPECT_GE(range.end - range.begin, kLogicalRanks / world_size);
      EXPECT_LE(range.end - range.begin, (kLogicalRanks + world_size - 1) / world_size);
      next = range.end;
    }
    EXPECT_EQ(next, kLogicalRanks);
  }
}

}  // namespace
}  // namespace tandem
