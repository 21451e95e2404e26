#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/ids.h"

namespace tandem::ddp {

// An exchange under way.
class PendingExchange {
 public:
  // The transport has let go of the buffers. Dropped before Wait, the exchange is given up, and the
  // transport is of no further use.
  virtual ~PendingExchange() = default;

  // Blocks until the exchange is over. At most once; errors as listed on Transport.
  virtual absl::Status Wait() = 0;
};

// Moves bytes between the ranks of one attempt. StartAllReduceSum alone adds: else the order of
// additions is reduction_tree.h's.
//
// Every rank makes the same calls in the same order with buffers of the same size, from one thread
// at a time; only Abort may come from any thread. Buffers are main memory, or that of the device which
// the transport was made for; they stay untouched by the caller until the exchange is over. After an
// error the transport is of no further use.
//
// Errors of every exchange:
//   Unavailable        a peer is gone.
//   DeadlineExceeded   a peer was silent for longer than the transport allows.
//   Cancelled          Abort was called.
//   FailedPrecondition a peer is in another exchange, of another size: names it; or DeadlineExceeded
//                      where the library cannot tell (NCCL).
//   Internal           anything else, in the library's words.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual Rank rank() const = 0;
  virtual uint32_t world_size() const = 0;

  // `slots` is world_size() slots of equal size; slot rank() holds this rank's bytes, and once the
  // exchange is over slot p holds those of rank p. Returns at once, never null; a failure to start
  // is what Wait returns. Several may be under way.
  virtual std::unique_ptr<PendingExchange> StartAllGather(absl::Span<std::byte> slots) = 0;

  // `send` and `receive`, apart from each other, are world_size() slots of equal size: slot p of
  // `send` goes to rank p, and once the exchange is over slot p of `receive` is what rank p sent
  // here, also for p = rank(). Else as StartAllGather.
  virtual std::unique_ptr<PendingExchange> StartAllToAll(absl::Span<const std::byte> send,
                                                         absl::Span<std::byte> receive) = 0;

  // Once over, `values` holds the sums over all ranks, added in the order of ranks, with equal bits
  // on every rank: for Reduction::kAllReduce alone. As StartAllGather, except that Wait may
  // communicate: every rank waits for these in the same order. StartAllToAll, a sum over each
  // rank's share and an all-gather, on any transport; not Gloo's own all-reduce, which does not
  // notice a peer that dies in the middle. Over NCCL it is the library's own, in an order of its own.
  virtual std::unique_ptr<PendingExchange> StartAllReduceSum(absl::Span<float> values);

  // On every rank `data` becomes that of `root`.
  virtual absl::Status Broadcast(absl::Span<std::byte> data, Rank root) = 0;

  // Returns once every rank has called it.
  virtual absl::Status Barrier() = 0;

  // Ends all exchanges under way and refuses new ones, so that a rank blocked in one returns
  // promptly. Idempotent.
  virtual void Abort() = 0;

  absl::Status AllGather(absl::Span<std::byte> slots) { return StartAllGather(slots)->Wait(); }
};

}  // namespace tandem::ddp
