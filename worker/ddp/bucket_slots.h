#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "common/ids.h"
#include "worker/ddp/headed_gather.h"
#include "worker/ddp/transport.h"

namespace tandem::ddp {

// What a bucket is to the other ranks, the same on all of them.
struct BucketIdentity {
  uint32_t index = 0;  // among the buckets
  uint32_t logical_ranks = 1;
  uint64_t job_hash = 0;
  size_t segments = 0;
  int64_t elements = 0;
};

// What every rank tells every other about its blocks of a bucket, in one all-gather: one slot per
// rank, with a header, the presence of each block's segments, and, if wanted, each block's values.
// Values that are not in main memory, where all the rest is, go in an all-gather of their own.
// Not thread-safe.
class BucketSlots {
 public:
  // Slots for `blocks` blocks of each rank; some ranks may have fewer. `values`: where they are;
  // unset: they do not travel.
  BucketSlots(Transport& transport, const BucketIdentity& identity, size_t blocks,
              const std::optional<at::TensorOptions>& values = std::nullopt);

  // Bytes, one per segment.
  uint8_t* present(Rank rank, size_t block) const;
  // A view: float32, [elements].
  at::Tensor values(Rank rank, size_t block) const;

  void Start(uint64_t step);
  // As HeadedGather.
  absl::Status Wait();
  absl::Status WaitFor(std::unique_ptr<PendingExchange> exchange) const {
    return gather_.WaitFor(std::move(exchange));
  }

 private:
  bool values_apart() const { return !values_.is_same(slots_); }

  // Constant after construction. Sizes are in bytes.
  Transport& transport_;
  const BucketIdentity identity_;
  const size_t values_begin_;  // within a slot
  const size_t row_;           // a block's values
  const at::Tensor slots_;     // bytes
  const at::Tensor values_;    // bytes: the slots, or a row per block, one rank after the other

  HeadedGather gather_;
  std::unique_ptr<PendingExchange> pending_values_;  // if they are apart
};

}  // namespace tandem::ddp
