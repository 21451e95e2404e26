// What every exchange moves, between ranks that are threads or processes, from and to both kinds of
// memory; compared with LoopbackTransport.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "worker/ddp/loopback_transport.h"
#include "worker/nccl/nccl_ranks.h"

namespace tandem::nccl {
namespace {

using ::testing::Combine;
using ::testing::Each;
using ::testing::Values;

enum class Kind { kMain, kDevice };

// Bytes in main memory or in the device's, which a test can both touch.
class TestBuffer {
 public:
  // Without a device: in main memory.
  TestBuffer(device::Device* device, size_t bytes) : main_(device == nullptr ? bytes : 0) {
    if (device != nullptr) device_ = *device->Allocate(bytes);
    span_ = {device == nullptr ? main_.data() : device_->data(), bytes};
    std::fill(span_.begin(), span_.end(), std::byte{0xee});
  }
  absl::Span<std::byte> bytes() const { return span_; }
  absl::Span<float> floats() const {
    return {reinterpret_cast<float*>(span_.data()), span_.size() / sizeof(float)};
  }
  std::string text() const { return {reinterpret_cast<const char*>(span_.data()), span_.size()}; }

 private:
  std::vector<std::byte> main_;
  std::unique_ptr<device::Memory> device_;
  absl::Span<std::byte> span_;
};

void FillWithPattern(absl::Span<std::byte> bytes, uint32_t seed) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((i * 31 + i / 251 + seed * 97) % 256);
  }
}

constexpr size_t kSizes[] = {0, 1, 3, 4096, (size_t{1} << 18) + 5};

// One of each exchange of each size, with bytes that depend on the rank: all that the rank has
// afterwards.
class EveryExchange {
 public:
  EveryExchange(ddp::Transport& transport, device::Device* device)
      : transport_(transport), device_(device) {}

  std::string Run() {
    std::string results;
    for (const size_t bytes : kSizes) {
      absl::StrAppend(&results, AllGather(bytes), AllToAll(bytes), AllReduce(bytes));
      for (uint32_t root = 0; root < world(); ++root) {
        absl::StrAppend(&results, Broadcast(bytes, Rank(root)));
      }
      Expect(transport_.Barrier());
    }
    return results;
  }

 private:
  uint32_t world() const { return transport_.world_size(); }
  uint32_t self() const { return transport_.rank().value(); }
  static void Expect(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

  std::string AllGather(size_t bytes) {
    const TestBuffer slots(device_, bytes * world());
    FillWithPattern(slots.bytes().subspan(self() * bytes, bytes), self());
    Expect(transport_.AllGather(slots.bytes()));
    return slots.text();
  }

  std::string AllToAll(size_t bytes) {
    const TestBuffer send(device_, bytes * world());
    const TestBuffer receive(device_, bytes * world());
    FillWithPattern(send.bytes(), self());
    Expect(transport_.StartAllToAll(send.bytes(), receive.bytes())->Wait());
    return receive.text();
  }

  // Of whole numbers, whose sums do not depend on the order.
  std::string AllReduce(size_t bytes) {
    const TestBuffer values(device_, bytes * sizeof(float));
    for (size_t i = 0; i < bytes; ++i) {
      values.floats()[i] = static_cast<float>(i % 1000 * (self() + 1));
    }
    Expect(transport_.StartAllReduceSum(values.floats())->Wait());
    return values.text();
  }

  std::string Broadcast(size_t bytes, Rank root) {
    const TestBuffer data(device_, bytes);
    FillWithPattern(data.bytes(), self());
    Expect(transport_.Broadcast(data.bytes(), root));
    return data.text();
  }

  ddp::Transport& transport_;
  device::Device* const device_;
};

// By rank.
std::vector<std::string> ExpectedResults(uint32_t world_size) {
  std::vector<std::string> results(world_size);
  ddp::RunRanks(world_size, [&](ddp::Transport& transport) {
    results[transport.rank().value()] = EveryExchange(transport, nullptr).Run();
  });
  return results;
}

class NcclExchangeTest : public testing::TestWithParam<std::tuple<uint32_t, Kind>> {
 protected:
  static uint32_t world_size() { return std::get<0>(GetParam()); }

  // What all have is worked out before there are ranks.
  static RankBody RunsAll() {
    return [expected = ExpectedResults(world_size())](NcclRank& rank) {
      const auto transport = rank.Connect();
      device::Device* device = std::get<1>(GetParam()) == Kind::kDevice ? &rank.device : nullptr;
      const std::string result = EveryExchange(*transport, device).Run();
      EXPECT_TRUE(result == expected[rank.self.rank.value()]);
    };
  }
};
INSTANTIATE_TEST_SUITE_P(Worlds, NcclExchangeTest,
                         Combine(Values(1, 2, 3), Values(Kind::kMain, Kind::kDevice)),
                         [](const auto& world) {
                           const bool main = std::get<1>(world.param) == Kind::kMain;
                           return absl::StrCat(std::get<0>(world.param), main ? "Main" : "Device");
                         });

TEST_P(NcclExchangeTest, EveryExchangeOfThreads_MovesWhatLoopbackMoves) {
  RunThreads(world_size(), RunsAll());
}

TEST_P(NcclExchangeTest, EveryExchangeOfProcesses_MovesWhatLoopbackMoves) {
  RankProcesses ranks(world_size(), RunsAll());
  for (uint32_t rank = 0; rank < world_size(); ++rank) EXPECT_EQ(ranks.Await(rank), 0);
}

TEST(NcclTransportTest, AllToAllBetweenMainAndDevicesMemory_SlotOfEachRank) {
  RunThreads(2, [](NcclRank& rank) {
    const auto transport = rank.Connect();
    for (const bool send_from_main : {true, false}) {
      const TestBuffer send(send_from_main ? nullptr : &rank.device, 6);
      const TestBuffer receive(send_from_main ? &rank.device : nullptr, 6);
      std::memcpy(send.bytes().data(), rank.self.rank == Rank(0) ? "aaabbb" : "cccddd", 6);
      EXPECT_TRUE(transport->StartAllToAll(send.bytes(), receive.bytes())->Wait().ok());
      EXPECT_EQ(receive.text(), rank.self.rank == Rank(0) ? "aaaccc" : "bbbddd");
    }
  });
}

TEST(NcclTransportTest, MainMemoryAndSlowCopies_ExchangeAndCallerWaitForThem) {
  const auto body = [](NcclRank& rank) {
    const auto transport = rank.Connect();
    std::vector<std::byte> slots(2);
    for (const uint8_t value : {7, 8}) {
      slots[rank.self.rank.value()] = std::byte{value};
      EXPECT_TRUE(transport->AllGather(absl::MakeSpan(slots)).ok());
      EXPECT_THAT(slots, Each(std::byte{value}));
    }
  };
  RunThreads(2, body, {.copy_time = absl::Milliseconds(30)});
}

TEST(NcclTransportTest, SeveralExchangesAtOnce_EachGetsItsOwn) {
  RunThreads(3, [](NcclRank& rank) {
    const auto transport = rank.Connect();
    std::vector<TestBuffer> slots;
    std::vector<std::unique_ptr<ddp::PendingExchange>> exchanges;
    for (uint8_t i = 0; i < 50; ++i) {
      slots.emplace_back(i % 2 == 0 ? &rank.device : nullptr, 3 * size_t{i} * 100);
      std::fill(slots.back().bytes().begin(), slots.back().bytes().end(), std::byte{i});
    }
    for (const TestBuffer& slot : slots)
      exchanges.push_back(transport->StartAllGather(slot.bytes()));
    for (uint8_t i = 50; i-- > 0;) {
      const absl::Status status = exchanges[i]->Wait();
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_THAT(slots[i].bytes(), Each(std::byte{i}));
    }
  });
}

// How many of `count` exchanges are launched while they are started, one right behind the other.
uint64_t LaunchedBeforeTheFirstWait(ddp::Transport& transport, device::Device& device,
                                    uint64_t count) {
  const TestBuffer slots(&device, transport.world_size());
  const uint64_t before = StandInLaunches();
  std::vector<std::unique_ptr<ddp::PendingExchange>> exchanges;
  while (exchanges.size() < count) exchanges.push_back(transport.StartAllGather(slots.bytes()));
  const uint64_t launched = StandInLaunches() - before;
  for (const auto& exchange : exchanges) EXPECT_TRUE(exchange->Wait().ok());
  return launched;
}

// A busy machine may hold up the launching thread: so several tries.
TEST(NcclTransportTest, ManyStartsBeforeTheFirstWait_AllButTheLastAreLaunched) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    const auto transport = rank.Connect();
    constexpr uint64_t kExchanges = 40;
    uint64_t most = 0;
    for (int tries = 0; tries < 20; ++tries) {
      most = std::max(most, LaunchedBeforeTheFirstWait(*transport, rank.device, kExchanges));
    }
    EXPECT_GE(most, kExchanges - 1);
  });
  for (uint32_t rank = 0; rank < 2; ++rank) EXPECT_EQ(ranks.Await(rank), 0);
}

// The sums of NCCL: in an order of its own, but with the same bits on every rank.
TEST(NcclTransportTest, AllReduceSum_IsTheLibrarysOwn) {
  RunThreads(3, [](NcclRank& rank) {
    const auto transport = rank.Connect();
    const float addends[] = {1.0f, 1e8f, -1e8f};
    std::vector<float> values(5, addends[rank.self.rank.value()]);
    EXPECT_TRUE(transport->StartAllReduceSum(absl::MakeSpan(values))->Wait().ok());
    EXPECT_THAT(values, Each(1.0f));  // in the order of ranks it would be 0
  });
}

TEST(NcclTransportTest, DevicesBuffer_IsReadOnceTheComputeStreamIsThere) {
  RunThreads(2, [](NcclRank& rank) {
    const auto transport = rank.Connect();
    const TestBuffer slots(&rank.device, 2);
    const auto own = slots.bytes().subspan(rank.self.rank.value(), 1);
    absl::Notification go;
    static_cast<device::HostQueue&>(rank.device.ComputeStream()).Put([&] {
      go.WaitForNotification();
      own[0] = std::byte{7};
    });
    const auto exchange = transport->StartAllGather(slots.bytes());
    absl::SleepFor(
        absl::Milliseconds(100));  // for a transport that does not wait, to send the old ones
    go.Notify();
    EXPECT_TRUE(exchange->Wait().ok());
    EXPECT_THAT(slots.bytes(), Each(std::byte{7}));
  });
}

}  // namespace
}  // namespace tandem::nccl
