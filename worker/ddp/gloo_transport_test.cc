#include "worker/ddp/gloo_transport.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/barrier.h"
#include "common/keyed_hash.h"
#include "worker/ddp/gloo_ranks.h"
#include "worker/ddp/reduction_scene.h"

namespace tandem::ddp {
namespace {

using ::testing::HasSubstr;

ReductionScene EightLeaves() {
  ReductionScene scene = ReductionScene::Random(8, {{300, 33}, {33}, {1}}, 23);
  for (const size_t leaf : {0, 1, 2, 6}) scene.leaves[leaf][1].reset();
  scene.count = 11;
  return scene;
}

absl::Span<const std::byte> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
absl::Span<std::byte> BytesOf(std::string& text) {
  return {reinterpret_cast<std::byte*>(text.data()), text.size()};
}

// From this size on a message is sent in portions.
constexpr size_t kUnit = size_t{1} << 17;

// No two of its units are equal.
std::string Pattern(size_t size, uint64_t seed) {
  std::string pattern(size, '\0');
  for (size_t i = 0; i < size; ++i) pattern[i] = static_cast<char>(Scramble(seed + 16 * i));
  return pattern;
}

class GlooProcessesTest : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(WorldSizes, GlooProcessesTest, testing::Values(2, 3),
                         testing::PrintToStringParamName());

TEST_P(GlooProcessesTest, Gradients_SameBitsAsOnOneRank) {
  const auto reduce = [](Transport& transport) {
    for (const size_t gather_bytes : {size_t{0}, size_t{1} << 30}) {
      const auto result =
          Reduce(EightLeaves(), transport, {.bucket_bytes = 1 << 10, .gather_bytes = gather_bytes});
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_TRUE(SameBits(*result, Definition(EightLeaves()))) << gather_bytes;
    }
  };
  OtherProcesses others(GetParam(), reduce);
  auto host = *Rendezvous::Host(RankOf(0, GetParam()), "127.0.0.1");
  others.TellPort(host->port());
  reduce(*Connect(*host, {}));
  EXPECT_THAT(others.Await(), testing::Each(0));
}

TEST(GlooTransportTest, PeerKilledInMidExchange_UnavailableAndNamed) {
  constexpr size_t kSlotBytes = size_t{64} << 20;  // more than the sockets hold
  OtherProcesses others(2, [](Transport& transport) {
    std::vector<std::byte> slots(2 * kSlotBytes);
    const auto exchange = transport.StartAllGather(absl::MakeSpan(slots));
    raise(SIGKILL);
  });
  auto host = *Rendezvous::Host(RankOf(0, 2), "127.0.0.1");
  others.TellPort(host->port());
  const auto transport = Connect(*host, {});
  std::vector<std::byte> slots(2 * kSlotBytes);
  const absl::Status status = transport->AllGather(absl::MakeSpan(slots));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1"));
}

// As above, in what a large bucket is sent with.
TEST(GlooTransportTest, PeerKilledInMidAllToAll_UnavailableAndNamed) {
  constexpr size_t kSlotBytes = size_t{64} << 20;
  OtherProcesses others(2, [](Transport& transport) {
    const std::vector<std::byte> send(2 * kSlotBytes);
    std::vector<std::byte> receive(2 * kSlotBytes);
    const auto exchange = transport.StartAllToAll(send, absl::MakeSpan(receive));
    raise(SIGKILL);
  });
  auto host = *Rendezvous::Host(RankOf(0, 2), "127.0.0.1");
  others.TellPort(host->port());
  const auto transport = Connect(*host, {});
  const std::vector<std::byte> send(2 * kSlotBytes);
  std::vector<std::byte> receive(2 * kSlotBytes);
  const absl::Status status = transport->StartAllToAll(send, absl::MakeSpan(receive))->Wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1"));
}

// Bytes of a slot on the one rank and on the other.
class GlooSizesTest : public testing::TestWithParam<std::pair<size_t, size_t>> {};
INSTANTIATE_TEST_SUITE_P(
    Differing, GlooSizesTest,
    testing::Values(std::pair(8, 100), std::pair(0, 1),
                    std::pair(336, 1442),  // the same to a hash in as many bits as a tag has
                    std::pair(kUnit - 1, kUnit), std::pair(kUnit + 1, kUnit + 2),
                    std::pair(kUnit, 2 * kUnit)),
    [](const auto& sizes) { return absl::StrCat(sizes.param.first, "_", sizes.param.second); });

// A rank that left something out must become an error, not the end of the process.
TEST_P(GlooSizesTest, PeerInAnExchangeOfAnotherSize_FailedPreconditionAndNamed) {
  absl::Barrier* const both_know = new absl::Barrier(2);  // the last to leave deletes it
  RunThreads(2, [&](Transport& transport) {
    const bool first = transport.rank() == Rank(0);
    std::vector<std::byte> slots(2 * (first ? GetParam().first : GetParam().second));
    const absl::Status status = transport.AllGather(absl::MakeSpan(slots));
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank"));
    if (both_know->Block()) delete both_know;
  });
}

TEST(GlooTransportTest, PeerSilent_DeadlineExceeded) {
  OtherProcesses others(2, [](Transport&) { pause(); });
  auto host = *Rendezvous::Host(RankOf(0, 2), "127.0.0.1");
  others.TellPort(host->port());
  const auto transport = Connect(*host, {.exchange_timeout = absl::Milliseconds(200)});
  const absl::Status status = transport->Barrier();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1"));
}

TEST(GlooTransportTest, PeerSilentInAllReduce_DeadlineExceeded) {
  OtherProcesses others(2, [](Transport&) { pause(); });
  auto host = *Rendezvous::Host(RankOf(0, 2), "127.0.0.1");
  others.TellPort(host->port());
  const auto transport = Connect(*host, {.exchange_timeout = absl::Milliseconds(200)});
  std::vector<float> values(3);
  const absl::Status status = transport->StartAllReduceSum(absl::MakeSpan(values))->Wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
}

TEST(GlooTransportTest, AbortFromAnotherThread_EndsTheExchange) {
  OtherProcesses others(2, [](Transport&) { pause(); });
  auto host = *Rendezvous::Host(RankOf(0, 2), "127.0.0.1");
  others.TellPort(host->port());
  const auto transport = Connect(*host, {});
  std::vector<std::byte> slots(2);
  const auto exchange = transport->StartAllGather(absl::MakeSpan(slots));
  std::thread aborter([&] { transport->Abort(); });
  EXPECT_EQ(exchange->Wait().code(), absl::StatusCode::kCancelled);
  aborter.join();
  EXPECT_EQ(transport->Barrier().code(), absl::StatusCode::kCancelled);
}

TEST(GlooTransportTest, AllGather_SlotsOfAllRanks) {
  RunThreads(3, [](Transport& transport) {
    std::vector<char> slots(6);
    std::fill_n(slots.begin() + 2 * transport.rank().value(), 2, 'a' + transport.rank().value());
    const absl::Status status =
        transport.AllGather({reinterpret_cast<std::byte*>(slots.data()), slots.size()});
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(std::string(slots.begin(), slots.end()), "aabbcc");
  });
}

TEST(GlooTransportTest, AllGatherOfAnySize_SlotsOfAllRanks) {
  RunThreads(2, [](Transport& transport) {
    for (const size_t size : {size_t{0}, size_t{1}, kUnit - 1, kUnit, kUnit + 1, 3 * kUnit + 7}) {
      const std::string expected = Pattern(size, 1) + Pattern(size, 2);
      std::string slots = expected;
      const size_t other = transport.rank() == Rank(0) ? 1 : 0;
      std::fill_n(slots.begin() + static_cast<ptrdiff_t>(other * size), size, '\0');
      EXPECT_TRUE(transport.AllGather(BytesOf(slots)).ok());
      EXPECT_TRUE(slots == expected) << size << " bytes";
    }
  });
}

TEST(GlooTransportTest, AllToAll_SlotForThisRankOfEachRank) {
  RunThreads(3, [](Transport& transport) {
    const char self = static_cast<char>('a' + transport.rank().value());
    const std::string send = {self, '0', self, '1', self, '2'};
    std::string receive(6, '-');
    const absl::Status status = transport.StartAllToAll(BytesOf(send), BytesOf(receive))->Wait();
    EXPECT_TRUE(status.ok()) << status;
    const std::string expected[] = {"a0b0c0", "a1b1c1", "a2b2c2"};
    EXPECT_EQ(receive, expected[transport.rank().value()]);
  });
}

TEST(GlooTransportTest, AllReduceSum_SumsOverAllRanks) {
  RunThreads(3, [](Transport& transport) {
    std::vector<float> values = {1, 2, 4, 8, 16};
    for (float& value : values) value += 100 * static_cast<float>(transport.rank().value());
    const absl::Status status = transport.StartAllReduceSum(absl::MakeSpan(values))->Wait();
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_THAT(values, testing::ElementsAre(303, 306, 312, 324, 348));
  });
}

TEST(GlooTransportTest, SeveralExchangesAtOnce_EachGetsItsOwn) {
  RunThreads(2, [](Transport& transport) {
    std::vector<std::vector<std::byte>> slots;
    std::vector<std::unique_ptr<PendingExchange>> exchanges;
    for (uint8_t i = 0; i < 50; ++i) slots.emplace_back(2, std::byte{i});
    for (auto& slot : slots) exchanges.push_back(transport.StartAllGather(absl::MakeSpan(slot)));
    for (uint8_t i = 50; i-- > 0;) {
      EXPECT_TRUE(exchanges[i]->Wait().ok());
      EXPECT_THAT(slots[i], testing::Each(std::byte{i}));
    }
  });
}

TEST(GlooTransportTest, Broadcast_EverybodyHasThatOfTheRoot) {
  RunThreads(3, [](Transport& transport) {
    for (uint32_t root = 0; root < 3; ++root) {
      std::vector<std::byte> data(5, std::byte(transport.rank().value()));
      EXPECT_TRUE(transport.Broadcast(absl::MakeSpan(data), Rank(root)).ok());
      EXPECT_THAT(data, testing::Each(std::byte(root)));
    }
  });
}

TEST(GlooTransportTest, Barrier_AllReturn) {
  RunThreads(3, [](Transport& transport) { EXPECT_TRUE(transport.Barrier().ok()); });
}

TEST(GlooTransportTest, WorldOfOne_NeedsNoNetwork) {
  auto host = *Rendezvous::Host(RankOf(0, 1), "127.0.0.1");
  const auto transport = ConnectGloo(*host, {.address = "192.0.2.1"});
  ASSERT_TRUE(transport.ok()) << transport.status();
  EXPECT_TRUE((*transport)->Barrier().ok());
}

TEST(GlooTransportTest, AddressOfAnotherHost_Refused) {
  auto host = *Rendezvous::Host(RankOf(0, 2), "127.0.0.1");
  EXPECT_FALSE(ConnectGloo(*host, {.address = "192.0.2.1"}).ok());
}

// With two ranks of one leaf each there is one addition, which commutes: c10d's sum has the same
// bits.
TEST(GlooTransportTest, TwoLeavesOnTwoRanks_SameBitsAsPlainAllReduce) {
  const ReductionScene scene = ReductionScene::Random(2, {{1000, 33}}, 4);
  auto host = *Rendezvous::Host(RankOf(0, 2), "127.0.0.1");
  Gradients sums = {scene.leaves[0][0].clone(), scene.leaves[1][0].clone()};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      auto options = c10d::ProcessGroupGloo::Options::create();
      options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
      const auto gloo =
          c10::make_intrusive<c10d::ProcessGroupGloo>(host->store()->clone(), rank, 2, options);
      std::vector<at::Tensor> tensors = {sums[rank]};
      gloo->allreduce(tensors)->wait();
    });
  }
  for (std::thread& rank : ranks) rank.join();
  RunThreads(2, [&](Transport& transport) {
    EXPECT_TRUE(SameBits(*Reduce(scene, transport), {sums[transport.rank().value()]}));
  });
}

}  // namespace
}  // namespace tandem::ddp
