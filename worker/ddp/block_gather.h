#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "common/ids.h"
#include "common/logical_ranks.h"
#include "worker/ddp/exchange_header.h"
#include "worker/ddp/headed_gather.h"
#include "worker/ddp/reduction_tree.h"
#include "worker/ddp/transport.h"

namespace tandem::ddp {

// Gives every rank the small values of all blocks that the ranks have left over after adding their
// own leaves. A value is `elements` numbers of 8 bytes, or absent. Not thread-safe.
class BlockGather {
 public:
  struct GatheredBlock {
    Block block;
    const std::byte* value;  // null: absent
  };

  // `transport` outlives it. CheckTreeShape(world size, logical_ranks) is OK.
  BlockGather(Transport& transport ABSL_ATTRIBUTE_LIFETIME_BOUND, uint32_t logical_ranks,
              uint64_t job_hash);

  // The logical ranks that this rank executes.
  LogicalRange range() const { return RangeOf(transport_.rank()); }

  // The next exchange, with every own block absent. `bucket` as in ExchangeHeader.
  void Prepare(uint64_t step, uint32_t bucket, size_t elements);
  // The value of this rank's block number `index`, from left to right.
  void Put(size_t index, const void* value);
  void Start() { gather_.Start(header_); }

  // Once after each Start. Errors as HeadedGather.
  absl::Status Wait() { return gather_.Wait(); }

  // After Wait: from left to right. Valid until the next Prepare.
  std::vector<GatheredBlock> blocks() const;

 private:
  LogicalRange RangeOf(Rank rank) const;
  std::byte* BlockOf(size_t own_index) const;

  // Constant after construction.
  Transport& transport_;
  const size_t blocks_per_slot_;

  // Step, bucket and elements from Prepare on.
  ExchangeHeader header_;
  std::vector<std::byte> slots_;
  HeadedGather gather_;
};

}  // namespace tandem::ddp
