#pragma once

#include <cstdint>

#include "common/ids.h"

namespace tandem {

// Logical ranks `begin` to `end` - 1.
struct LogicalRange {
  uint32_t begin, end;
  friend bool operator==(const LogicalRange&, const LogicalRange&) = default;
};

// The share of `rank` when `logical_ranks` are spread over `world_size` ranks: contiguous, without
// gap or overlap from one rank to the next, and sizes differ by at most one. Needs rank <
// world_size <= logical_ranks.
constexpr LogicalRange LogicalRangeOf(Rank rank, uint32_t world_size, uint32_t logical_ranks) {
  const uint64_t p = rank.value();
  return {static_cast<uint32_t>(p * logical_ranks / world_size),
          static_cast<uint32_t>((p + 1) * logical_ranks / world_size)};
}

}  // namespace tandem
