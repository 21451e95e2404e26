#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
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
// Not thread-safe.
class BucketSlots {
 public:
  enum class Content { kPresence, kPresenceAndValues };

  // Slots for `blocks` blocks of each rank; some ranks may have fewer.
  BucketSlots(Transport& transport, const BucketIdentity& identity, size_t blocks, Content content);

  // Bytes, one per segment.
  uint8_t* present(Rank rank, size_t block) const;
  // A view: float32, [elements].
  at::Tensor values(Rank rank, size_t block) const;

  void Start(uint64_t step);
  // As HeadedGather.
  absl::Status Wait() { return gather_.Wait(); }
  absl::Status WaitFor(std::unique_ptr<PendingExchange> exchange) const {
    return gather_.WaitFor(std::move(exchange));
  }

 private:
  // Constant after construction.
  const BucketIdentity identity_;
  const size_t values_begin_;  // within a slot
  const size_t values_bytes_;  // of a block
  const size_t slot_bytes_;
  const at::Tensor slots_;  // bytes

  HeadedGather gather_;
};

}  // namespace tandem::ddp
