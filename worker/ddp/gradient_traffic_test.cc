// What GradientReducer sends, and when.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/ddp/gradient_reducer.h"
#include "worker/ddp/loopback_transport.h"
#include "worker/ddp/reduction_scene.h"

namespace tandem::ddp {
namespace {

using ::testing::ElementsAre;

// Notes when its exchange is waited for.
class ObservedExchange : public PendingExchange {
 public:
  ObservedExchange(std::unique_ptr<PendingExchange> exchange, std::string event,
                   std::vector<std::string>* events)
      : exchange_(std::move(exchange)), event_(std::move(event)), events_(events) {}

  absl::Status Wait() override {
    events_->push_back(event_);
    return exchange_->Wait();
  }

 private:
  const std::unique_ptr<PendingExchange> exchange_;
  const std::string event_;
  std::vector<std::string>* const events_;
};

// Counts what this rank sends, as every transport has to: a slot to each peer.
class CountingTransport : public Transport {
 public:
  explicit CountingTransport(Transport& transport) : transport_(transport) {}

  Rank rank() const override { return transport_.rank(); }
  uint32_t world_size() const override { return transport_.world_size(); }
  std::unique_ptr<PendingExchange> StartAllGather(absl::Span<std::byte> slots) override {
    return Observe("all-gather", slots.size(), transport_.StartAllGather(slots));
  }
  std::unique_ptr<PendingExchange> StartAllToAll(absl::Span<const std::byte> send,
                                                 absl::Span<std::byte> receive) override {
    return Observe("all-to-all", send.size(), transport_.StartAllToAll(send, receive));
  }
  absl::Status Broadcast(absl::Span<std::byte> data, Rank root) override {
    return transport_.Broadcast(data, root);
  }
  absl::Status Barrier() override { return transport_.Barrier(); }
  void Abort() override { transport_.Abort(); }

  // Since the last call.
  uint64_t TakeBytes() { return std::exchange(bytes_, 0); }
  // Exchanges of more than `kLarge` bytes only.
  const std::vector<std::string>& events() const { return events_; }

 private:
  static constexpr size_t kLarge = 1000;

  std::unique_ptr<PendingExchange> Observe(const std::string& kind, size_t all_slots,
                                           std::unique_ptr<PendingExchange> exchange) {
    bytes_ += all_slots / world_size() * (world_size() - 1);
    if (all_slots <= kLarge) return exchange;
    events_.push_back(kind);
    return std::make_unique<ObservedExchange>(std::move(exchange), "wait for " + kind, &events_);
  }

  Transport& transport_;
  uint64_t bytes_ = 0;
  std::vector<std::string> events_;
};

constexpr int64_t kElements = 100'003;  // no multiple of a world size
constexpr uint64_t kGradientBytes = kElements * sizeof(float);

// Bytes that each of `world_size` ranks sends in a step with one parameter of `elements`.
std::vector<uint64_t> BytesSent(uint32_t world_size, int64_t elements,
                                const GradientReducerOptions& options) {
  const ReductionScene scene = ReductionScene::Random(8, {{elements}}, 3);
  std::vector<uint64_t> bytes(world_size);
  RunRanks(world_size, [&](Transport& transport) {
    CountingTransport counting(transport);
    GradientReducerOptions of_scene = options;
    of_scene.logical_ranks = 8;
    const std::vector<NamedTensor> parameters = scene.MakeParameters();
    auto reducer = *GradientReducer::Create(counting, parameters, of_scene);
    counting.TakeBytes();
    EXPECT_TRUE(ReduceStep(scene, *reducer, parameters, 0).ok());
    bytes[transport.rank().value()] = counting.TakeBytes();
  });
  return bytes;
}

// Header, presence and rounding of every exchange, to each peer.
uint64_t Overhead(uint32_t world_size) { return 256 * (world_size - 1); }

// A header and the presence of one segment, in cache lines.
constexpr uint64_t kPresenceSlot = 128;

TEST(GradientTrafficTest, ShardedBucketOfTwoToThePowerRanks_SendsWhatARingSends) {
  for (const uint32_t world_size : {2, 4, 8}) {
    const uint64_t ring = 2 * (world_size - 1) * kGradientBytes / world_size;
    for (const uint64_t bytes : BytesSent(world_size, kElements, {.gather_bytes = 0})) {
      EXPECT_GE(bytes, ring);
      EXPECT_LE(bytes, ring + Overhead(world_size)) << world_size << " ranks";
    }
  }
}

// Of eight leaves, two of three ranks have two blocks, and one of five.
TEST(GradientTrafficTest, ShardedBucketOfRanksWithTwoBlocks_SendsThreeHalvesOfARing) {
  for (const uint32_t world_size : {3, 5}) {
    constexpr uint64_t kVectorBytes = 16;
    const uint64_t in_all = world_size * kVectorBytes;
    const uint64_t shard_bytes = (kGradientBytes + in_all - 1) / in_all * kVectorBytes;
    const uint64_t values = 3 * (world_size - 1) * shard_bytes;  // two blocks and the sum
    for (const uint64_t bytes : BytesSent(world_size, kElements, {.gather_bytes = 0})) {
      EXPECT_EQ(bytes, values + (world_size - 1) * kPresenceSlot) << world_size << " ranks";
    }
  }
}

TEST(GradientTrafficTest, GatheredBucketOfRanksWithTwoBlocks_SendsBothToEveryPeer) {
  for (const uint32_t world_size : {3, 5}) {
    for (const uint64_t bytes : BytesSent(world_size, kElements, {.gather_bytes = 1 << 30})) {
      EXPECT_GE(bytes, 2 * (world_size - 1) * kGradientBytes);
      EXPECT_LE(bytes, 2 * (world_size - 1) * kGradientBytes + Overhead(world_size));
    }
  }
}

TEST(GradientTrafficTest, GatheredBucket_SendsItselfToEveryPeer) {
  for (const uint32_t world_size : {2, 4, 8}) {
    for (const uint64_t bytes : BytesSent(world_size, kElements, {.gather_bytes = 1 << 30})) {
      EXPECT_GE(bytes, (world_size - 1) * kGradientBytes);
      EXPECT_LE(bytes, (world_size - 1) * kGradientBytes + Overhead(world_size));
    }
  }
}

TEST(GradientTrafficTest, AllReduce_SendsWhatARingSends) {
  const uint64_t ring = 2 * 3 * kGradientBytes / 4;
  for (const uint64_t bytes : BytesSent(4, kElements, {.reduction = Reduction::kAllReduce})) {
    EXPECT_LE(bytes, ring + Overhead(4));
  }
}

TEST(GradientTrafficTest, NothingAsked_LargeBucketsOfSeveralRanksAreSharded) {
  const GradientReducerOptions sharded = {.gather_bytes = 0};
  const GradientReducerOptions gathered = {.gather_bytes = 1 << 30};
  EXPECT_EQ(BytesSent(4, kElements, {}), BytesSent(4, kElements, sharded));
  EXPECT_EQ(BytesSent(4, 1000, {}), BytesSent(4, 1000, gathered));
  EXPECT_EQ(BytesSent(2, kElements, {}), BytesSent(2, kElements, gathered));
  EXPECT_NE(BytesSent(4, 1000, gathered), BytesSent(4, 1000, sharded));
}

// Otherwise a bucket's sums would cross the network while nothing else does.
TEST(GradientTrafficTest, SeveralShardedBuckets_AllSumsOnTheirWayBeforeOneIsWaitedFor) {
  const ReductionScene scene = ReductionScene::Random(2, {{2000}, {2000}}, 3);
  RunRanks(2, [&](Transport& transport) {
    CountingTransport counting(transport);
    EXPECT_TRUE(Reduce(scene, counting, {.bucket_bytes = 8000, .gather_bytes = 0}).ok());
    EXPECT_THAT(counting.events(), ElementsAre("all-to-all", "all-to-all",           //
                                               "wait for all-to-all", "all-gather",  //
                                               "wait for all-to-all", "all-gather",  //
                                               "wait for all-gather", "wait for all-gather"));
  });
}

}  // namespace
}  // namespace tandem::ddp
