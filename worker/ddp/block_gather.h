#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "common/ids.h"
#include "common/logical_ranks.h"
#include "worker/ddp/exchange_header.h"
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
  void Start();

  // Once after each Start.
  //   FailedPrecondition  a rank is at another exchange, or has other constants: names rank and
  //                       step.
  //   others              as Transport, naming the exchange.
  absl::Status Wait();

  // After Wait: from left to right. Valid until the next Prepare.
  std::vector<GatheredBlock> blocks() const;

 private:
  LogicalRange RangeOf(Rank rank) const;
  ExchangeHeader HeaderOf(Rank rank) const;
  const std::byte* SlotOf(Rank rank) const { return slots_.data() + rank.value() * slot_bytes_; }
  std::byte* BlockOf(size_t own_index);
  absl::Status CheckHeaders() const;

  // Constant after construction.
  Transport& transport_;
  const uint32_t logical_ranks_;
  const uint64_t job_hash_;
  const size_t blocks_per_slot_;

  // From Prepare on.
  uint64_t step_ = 0;
  uint32_t bucket_ = 0;
  size_t elements_ = 0;
  size_t slot_bytes_ = 0;
  std::vector<std::byte> slots_;
  std::unique_ptr<PendingExchange> pending_;
};

}  // namespace tandem::ddp
