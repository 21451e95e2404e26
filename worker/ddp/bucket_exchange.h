#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "worker/ddp/bucket_slots.h"
#include "worker/ddp/flat_gradient.h"
#include "worker/ddp/transport.h"
#include "worker/device/device.h"

namespace tandem::ddp {

// How the sums of one bucket over the ranks' own leaves become the sum over all: memory, traffic,
// and the additions between ranks. One object per bucket, used again at every step. All memory is
// allocated at construction. Not thread-safe; every rank makes the same calls, and those of a later
// stage for its buckets in the same order.
//
// Traffic, below: W ranks, and B = MaxBlocksPerRank, which is 1 if W is a power of two. Every rank
// sends the memory of B blocks, so that all slots have one size. A rank that has fewer could leave
// out the others, but no exchange would be over sooner: all wait for the rank that has B.
class BucketExchange {
 public:
  virtual ~BucketExchange() = default;

  // Where this rank's sums go, from left to right: written between Wait and the next Start.
  virtual FlatGradient own(size_t index) const = 0;

  // Sends this rank's sums off.
  virtual void Start(uint64_t step) = 0;
  // Waits for what the other ranks sent, adds it up and multiplies the sum by `scale`; what is left
  // to send is on its way after. Errors as GradientReducer::Finish, and of a device as Device.
  virtual absl::Status Add(float scale) = 0;
  // Waits for the whole. Errors as above.
  virtual absl::Status Wait() = 0;

  // After Wait, until own is written: the sum, scaled. The same memory every time.
  virtual FlatGradient sum() const = 0;
};

// Every rank gets all blocks and adds them itself, in the tree: one stage, in which each rank sends
// B (W-1) times a block's bytes. For small buckets, or few ranks. `device`: as in
// GradientReducerOptions.
std::unique_ptr<BucketExchange> MakeGatherExchange(Transport& transport, device::Device* device,
                                                   const BucketIdentity& identity,
                                                   const FlatLayout& layout);

// Each rank gets its share of the elements of all blocks, adds it in the tree, and sends the sums
// to all: two stages, in which each rank sends (B+1)(W-1)/W times a block's bytes. That is what a
// ring sends, 2(W-1)/W, if W is a power of two, and (B+1)/2 times as much otherwise: 3/2 of it for
// 3 or 5 ranks and 8 leaves. Memory for 2B blocks. The order per element is that of the exchange
// above, and so are the bits.
std::unique_ptr<BucketExchange> MakeShardExchange(Transport& transport, device::Device* device,
                                                  const BucketIdentity& identity,
                                                  const FlatLayout& layout);

// Each rank has one sum, and Transport::StartAllReduceSum adds them in the order of ranks, for
// 2(W-1)/W times a sum's bytes from each rank: Reduction::kAllReduce.
std::unique_ptr<BucketExchange> MakeAllReduceExchange(Transport& transport,
                                                      const BucketIdentity& identity,
                                                      const FlatLayout& layout);

}  // namespace tandem::ddp
