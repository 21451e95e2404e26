// The transports within a process, and what every transport has from its base.

#include "worker/ddp/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "worker/ddp/local_transport.h"
#include "worker/ddp/loopback_transport.h"

namespace tandem::ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LoopbackTransportTest, AllToAll_SlotForThisRankOfEachRank) {
  RunRanks(3, [](Transport& transport) {
    const auto self = static_cast<uint8_t>(10 * transport.rank().value());
    const std::vector<std::byte> send = {std::byte(self), std::byte(self + 1), std::byte(self + 2)};
    std::vector<std::byte> receive(3);
    EXPECT_TRUE(transport.StartAllToAll(send, absl::MakeSpan(receive))->Wait().ok());
    const auto p = static_cast<uint8_t>(transport.rank().value());
    EXPECT_THAT(receive, ElementsAre(std::byte(p), std::byte(10 + p), std::byte(20 + p)));
  });
}

TEST(LoopbackTransportTest, PeerGoneInAllToAll_UnavailableAndNamed) {
  LoopbackNetwork network(2);
  const auto transport = network.Join(Rank(0));
  network.Kill(Rank(1));
  const std::vector<std::byte> send(2);
  std::vector<std::byte> receive(2);
  const absl::Status status = transport->StartAllToAll(send, absl::MakeSpan(receive))->Wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1"));
}

TEST(LoopbackTransportTest, AbortedAllToAll_Cancelled) {
  LoopbackNetwork network(2);
  const auto transport = network.Join(Rank(0));
  const std::vector<std::byte> send(2);
  std::vector<std::byte> receive(2);
  const auto exchange = transport->StartAllToAll(send, absl::MakeSpan(receive));
  transport->Abort();
  EXPECT_EQ(exchange->Wait().code(), absl::StatusCode::kCancelled);
}

TEST(LocalTransportTest, AllToAll_GetsItsOwnSlot) {
  LocalTransport transport;
  const std::vector<std::byte> send(4, std::byte{7});
  std::vector<std::byte> receive(4);
  EXPECT_TRUE(transport.StartAllToAll(send, absl::MakeSpan(receive))->Wait().ok());
  EXPECT_EQ(receive, send);
  transport.Abort();
  EXPECT_EQ(transport.StartAllToAll(send, absl::MakeSpan(receive))->Wait().code(),
            absl::StatusCode::kCancelled);
}

// Sums that depend on the order of the additions.
std::vector<float> ValuesOf(Rank rank, size_t size) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) {
    values[i] = 1.0f / static_cast<float>(3 + i + 7 * rank.value());
  }
  return values;
}

TEST(TransportTest, AllReduceSumOfAnySize_AddsInTheOrderOfRanks) {
  for (const size_t size : {0, 1, 2, 3, 100}) {
    std::vector<float> expected = ValuesOf(Rank(0), size);
    for (const uint32_t rank : {1, 2}) {
      const std::vector<float> addend = ValuesOf(Rank(rank), size);
      for (size_t i = 0; i < size; ++i) expected[i] += addend[i];
    }
    RunRanks(3, [&](Transport& transport) {
      std::vector<float> values = ValuesOf(transport.rank(), size);
      EXPECT_TRUE(transport.StartAllReduceSum(absl::MakeSpan(values))->Wait().ok());
      EXPECT_EQ(values, expected) << size << " values";
    });
  }
}

TEST(TransportTest, PeerGoneInAllReduceSum_Unavailable) {
  LoopbackNetwork network(2);
  const auto transport = network.Join(Rank(0));
  network.Kill(Rank(1));
  std::vector<float> values(5);
  EXPECT_EQ(transport->StartAllReduceSum(absl::MakeSpan(values))->Wait().code(),
            absl::StatusCode::kUnavailable);
}

TEST(LocalTransportTest, AllReduceSum_LeavesTheValues) {
  LocalTransport transport;
  std::vector<float> values = {1, 2, 3};
  EXPECT_TRUE(transport.StartAllReduceSum(absl::MakeSpan(values))->Wait().ok());
  EXPECT_THAT(values, ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace tandem::ddp
