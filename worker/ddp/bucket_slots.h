#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "common/logical_ranks.h"
#include "worker/ddp/exchange_header.h"
#include "worker/ddp/flat_gradient.h"
#include "worker/ddp/reduction_tree.h"
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
  // After Start, which it ends, and with all slots there and checked.
  //   FailedPrecondition  a rank is at another step or bucket, or has other constants.
  //   others              as Transport, naming bucket and step.
  absl::Status Wait();

  // Waits for another exchange of the same bucket and step. Errors as Transport, naming both.
  absl::Status WaitFor(std::unique_ptr<PendingExchange> exchange) const;

 private:
  ExchangeHeader HeaderOf(Rank rank) const;
  std::byte* SlotOf(Rank rank) const;
  absl::Status CheckHeaders() const;

  // Constant after construction.
  Transport& transport_;
  const BucketIdentity identity_;
  const size_t values_begin_;  // within a slot
  const size_t values_bytes_;  // of a block
  const size_t slot_bytes_;
  const at::Tensor slots_;  // bytes

  uint64_t step_ = 0;
  std::unique_ptr<PendingExchange> pending_;
};

}  // namespace tandem::ddp
