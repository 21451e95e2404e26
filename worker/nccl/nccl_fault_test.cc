// What goes wrong after the ranks have met, or while they do: each fault ends in a named cause, in time,
// and with no process left. Ranks are processes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "worker/nccl/nccl_communicator.h"
#include "worker/nccl/nccl_ranks.h"

namespace tandem::nccl {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr absl::Duration kShort = absl::Milliseconds(300);
constexpr NcclOptions kShortExchanges = {.exchange_timeout = kShort};
constexpr size_t kLarge = size_t{32} << 20;  // more than sockets hold

// `text`: part of what is said.
void ExpectError(const absl::Status& status, absl::StatusCode code, const std::string& text) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
}

absl::Status AllGather(ddp::Transport& transport, size_t slot_bytes) {
  std::vector<std::byte> slots(transport.world_size() * slot_bytes);
  return transport.AllGather(absl::MakeSpan(slots));
}

void ExpectAllEnded(RankProcesses& ranks, uint32_t world_size) {
  for (uint32_t rank = 0; rank < world_size; ++rank) EXPECT_EQ(ranks.Await(rank), 0) << rank;
}

// --- connecting ---

TEST(NcclConnectTest, RankThatNeverComes_DeadlineExceededAndSaysWho) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    if (rank.self.rank == Rank(1)) return;
    ExpectError(rank.TryToConnect({.connect_timeout = kShort}).status(),
                absl::StatusCode::kDeadlineExceeded, "rank 0 of 2 cannot connect");
  });
  ExpectAllEnded(ranks, 2);
}

// Each as long as it may, since nobody tells it: the minter stays until the other is gone.
void ExpectRanksThatDisagreeWait(const RankBody& disagree) {
  const Gate other_is_gone;
  RankProcesses ranks(2, [&](NcclRank& rank) {
    const bool mints = rank.self.rank == Rank(0);
    disagree(rank);
    ExpectError(rank.TryToConnect({.connect_timeout = kShort}).status(),
                absl::StatusCode::kDeadlineExceeded, "cannot connect");
    if (mints) other_is_gone.Pass();
  });
  EXPECT_EQ(ranks.Await(1), 0);
  other_is_gone.Open();
  EXPECT_EQ(ranks.Await(0), 0);
}

TEST(NcclConnectTest, RanksDisagreeAboutTheWorldSize_DeadlineExceededOnEach) {
  ExpectRanksThatDisagreeWait([](NcclRank& rank) {
    if (rank.self.rank == Rank(1)) rank.self.world_size = 3;
  });
}

TEST(NcclConnectTest, TwoThatClaimOneRank_DeadlineExceededOnEach) {
  ExpectRanksThatDisagreeWait([](NcclRank& rank) { rank.self.rank = Rank(1); });
}

TEST(NcclConnectTest, IdOfAnotherSize_FailedPrecondition) {
  RankProcesses ranks(1, [](NcclRank& rank) {
    rank.id.pop_back();
    ExpectError(rank.TryToConnect().status(), absl::StatusCode::kFailedPrecondition,
                "127 bytes instead of 128");
  });
  ExpectAllEnded(ranks, 1);
}

TEST(NcclConnectTest, IdThatIsNone_InternalInNcclsWords) {
  RankProcesses ranks(1, [](NcclRank& rank) {
    rank.id.assign(128, 'x');
    ExpectError(rank.TryToConnect().status(), absl::StatusCode::kInternal, "names no address");
  });
  ExpectAllEnded(ranks, 1);
}

TEST(NcclConnectTest, RankOutsideOfTheWorld_InternalInNcclsWords) {
  RankProcesses ranks(1, [](NcclRank& rank) {
    rank.self.rank = Rank(1);
    ExpectError(rank.TryToConnect().status(), absl::StatusCode::kInternal,
                "Invalid rank requested");
  });
  ExpectAllEnded(ranks, 1);
}

TEST(NcclConnectTest, MinterDiesWhileRanksCome_UnavailableOnTheOthers) {
  RankProcesses ranks(3, [](NcclRank& rank) {
    if (rank.self.rank == Rank(0)) pause();
    if (rank.self.rank == Rank(2)) return;
    ExpectError(rank.TryToConnect().status(), absl::StatusCode::kUnavailable,
                "the process that minted the id");
  });
  EXPECT_EQ(ranks.Await(2), 0);
  ranks.Kill(0);
  EXPECT_EQ(ranks.Await(1), 0);
}

// The last to come is refused by one that is gone; the minter waits as long as it may.
TEST(NcclConnectTest, RankThatHasCheckedInDies_NamedCauseOnTheOthers) {
  const Gate one_is_gone;
  const Gate all_are_gone;
  RankProcesses ranks(3, [&](NcclRank& rank) {
    if (rank.self.rank == Rank(0)) {
      ExpectError(rank.TryToConnect({.connect_timeout = kShort}).status(),
                  absl::StatusCode::kDeadlineExceeded, "rank 0 of 3 cannot connect");
      return all_are_gone.Pass();
    }
    if (rank.self.rank == Rank(1)) setenv("TANDEM_STAND_IN_NCCL_FAULT", "check-in", 1);
    if (rank.self.rank == Rank(2)) one_is_gone.Pass();
    ExpectError(rank.TryToConnect().status(), absl::StatusCode::kUnavailable, "connection to rank");
  });
  EXPECT_TRUE(WIFSIGNALED(ranks.Await(1)));
  one_is_gone.Open();
  EXPECT_EQ(ranks.Await(2), 0);
  all_are_gone.Open();
  EXPECT_EQ(ranks.Await(0), 0);
}

TEST(NcclConnectTest, EndFromAnotherThreadWhileConnecting_CancelledAtOnce) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    if (rank.self.rank == Rank(1)) return;
    NcclCommunicator communicator(rank.library, absl::Minutes(5));
    NcclUniqueId id;
    rank.id.copy(id.bytes, sizeof(id.bytes));
    std::thread connecting([&] {
      EXPECT_EQ(communicator.Connect(rank.self, id, absl::Minutes(5)).code(),
                absl::StatusCode::kCancelled);
    });
    absl::SleepFor(absl::Milliseconds(50));  // so that it is mostly under way
    EXPECT_EQ(communicator.End(absl::CancelledError("aborted")).code(),
              absl::StatusCode::kCancelled);
    connecting.join();
  });
  ExpectAllEnded(ranks, 2);
}

// --- exchanges ---

TEST(NcclFaultTest, PeerKilledInMidExchange_UnavailableInNcclsWords) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    const auto transport = rank.Connect();
    std::vector<std::byte> slots(2 * kLarge);
    const auto exchange = transport->StartAllGather(absl::MakeSpan(slots));
    if (rank.self.rank == Rank(1)) raise(SIGKILL);
    const absl::Status status = exchange->Wait();
    ExpectError(status, absl::StatusCode::kUnavailable, "closed by remote peer");
    ExpectError(status, absl::StatusCode::kUnavailable, "all-gather of 67108864 bytes, exchange 1");
  });
  EXPECT_EQ(ranks.Await(0), 0);
  EXPECT_TRUE(WIFSIGNALED(ranks.Await(1)));
}

TEST(NcclFaultTest, PeerKilledInMidAllToAll_UnavailableOnBothOthers) {
  RankProcesses ranks(3, [](NcclRank& rank) {
    const auto transport = rank.Connect();
    const std::vector<std::byte> send(3 * kLarge);
    std::vector<std::byte> receive(3 * kLarge);
    const auto exchange = transport->StartAllToAll(send, absl::MakeSpan(receive));
    if (rank.self.rank == Rank(1)) raise(SIGKILL);
    EXPECT_EQ(exchange->Wait().code(), absl::StatusCode::kUnavailable);
  });
  EXPECT_EQ(ranks.Await(0), 0);
  EXPECT_EQ(ranks.Await(2), 0);
}

TEST(NcclFaultTest, PeerStopped_DeadlineExceededAndNamesTheExchange) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    const auto transport = rank.Connect(kShortExchanges);
    if (rank.self.rank == Rank(1)) raise(SIGSTOP);
    std::vector<float> values(3);
    ExpectError(transport->StartAllReduceSum(absl::MakeSpan(values))->Wait(),
                absl::StatusCode::kDeadlineExceeded, "all-reduce of 12 bytes, exchange 1");
  });
  EXPECT_EQ(ranks.Await(0), 0);
}

// As between devices of one host.
TEST(NcclFaultTest, PeerKilledAndNobodyNotices_DeadlineExceededAndNamesTheExchange) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    setenv("TANDEM_STAND_IN_NCCL_FAULT", "silence", 1);
    const auto transport = rank.Connect(kShortExchanges);
    if (rank.self.rank == Rank(1)) raise(SIGKILL);
    ExpectError(AllGather(*transport, kLarge), absl::StatusCode::kDeadlineExceeded,
                "all-gather of 67108864 bytes, exchange 1: a peer was silent");
  });
  EXPECT_EQ(ranks.Await(0), 0);
  EXPECT_TRUE(WIFSIGNALED(ranks.Await(1)));
}

TEST(NcclFaultTest, SizesDisagree_DeadlineExceededOnEach) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    const auto transport = rank.Connect(kShortExchanges);
    const absl::Status status = AllGather(*transport, 8 + rank.self.rank.value());
    // Whoever is later may find that the other has given up already.
    EXPECT_THAT(status.code(),
                AnyOf(absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded))
        << status;
  });
  ExpectAllEnded(ranks, 2);
}

TEST(NcclFaultTest, AsynchronousError_InternalThereAndUnavailableOnTheOther) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    setenv("TANDEM_STAND_IN_NCCL_FAULT", "1:2", 1);
    const auto transport = rank.Connect();
    const bool fails = rank.self.rank == Rank(1);
    EXPECT_TRUE(AllGather(*transport, 8).ok());
    const absl::Status second = AllGather(*transport, 8);
    if (fails) ExpectError(second, absl::StatusCode::kInternal, "exchange 2 fails, as asked for");
    const absl::Status third = AllGather(*transport, 8);
    // The first cause is kept.
    EXPECT_EQ(third.code(), fails ? absl::StatusCode::kInternal : absl::StatusCode::kUnavailable)
        << third;
  });
  ExpectAllEnded(ranks, 2);
}

// --- the end by this rank's own will ---

class NcclAbortTest : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(SlotBytes, NcclAbortTest, testing::Values(8, kLarge),
                         testing::PrintToStringParamName());

TEST_P(NcclAbortTest, AbortFromAnotherThread_EndsWhatIsUnderWayAndRefusesMore) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    const auto transport = rank.Connect();
    if (rank.self.rank == Rank(1)) pause();
    std::vector<std::byte> slots(2 * GetParam());
    std::vector<std::byte> more(2);
    const auto exchange = transport->StartAllGather(absl::MakeSpan(slots));
    const auto behind = transport->StartAllGather(absl::MakeSpan(more));
    std::thread aborter([&] { transport->Abort(); });
    ExpectError(exchange->Wait(), absl::StatusCode::kCancelled,
                "exchange 1: the exchange was aborted");
    EXPECT_EQ(behind->Wait().code(), absl::StatusCode::kCancelled);
    aborter.join();
    transport->Abort();
    EXPECT_EQ(transport->Barrier().code(), absl::StatusCode::kCancelled);
  });
  EXPECT_EQ(ranks.Await(0), 0);
}

TEST(NcclAbortTest, ExchangeDroppedBeforeWait_LetsGoAndEndsTheTransport) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    const auto transport = rank.Connect();
    if (rank.self.rank == Rank(1)) pause();
    {
      std::vector<std::byte> slots(2 * kLarge);
      const auto dropped = transport->StartAllGather(absl::MakeSpan(slots));
    }
    ExpectError(transport->Barrier(), absl::StatusCode::kCancelled, "given up");
  });
  EXPECT_EQ(ranks.Await(0), 0);
}

// It begins after the compute stream, and so lets go after it.
TEST(NcclAbortTest, ExchangeDroppedBeforeItBegan_WaitsUntilTheDeviceHasLetGo) {
  RankProcesses ranks(1, [](NcclRank& rank) {
    const auto transport = rank.Connect();
    const auto memory = *rank.device.Allocate(2);
    std::atomic<bool> computed = false;
    static_cast<device::HostQueue&>(rank.device.ComputeStream()).Put([&] {
      absl::SleepFor(absl::Milliseconds(100));
      computed = true;
    });
    transport->StartAllGather({memory->data(), 2}).reset();
    EXPECT_TRUE(computed);
  });
  EXPECT_EQ(ranks.Await(0), 0);
}

// The stream still holds the exchange, which goes on as soon as the peer does.
TEST(NcclAbortTest, NcclHangsInTheAbort_CauseIsToldAndTheRankEnds) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    setenv("TANDEM_STAND_IN_NCCL_FAULT", "abort", 1);
    const auto transport = rank.Connect({.exchange_timeout = kShort, .ending_timeout = kShort});
    if (rank.self.rank == Rank(1)) raise(SIGSTOP);
    ExpectError(AllGather(*transport, 8), absl::StatusCode::kDeadlineExceeded,
                "all-gather of 16 bytes, exchange 1: a peer was silent");
    ExpectError(AllGather(*transport, 8), absl::StatusCode::kDeadlineExceeded, "exchange 2");
  });
  EXPECT_EQ(ranks.Await(0), 0);
}

TEST(NcclAbortTest, DeviceHangs_CauseIsToldAndTheTransportGoes) {
  RankProcesses ranks(1, [](NcclRank& rank) {
    auto transport = rank.Connect({.exchange_timeout = kShort, .ending_timeout = kShort});
    const auto memory = *rank.device.Allocate(1);
    // Both own it: the queue may still be leaving when this function has.
    const auto go = std::make_shared<absl::Notification>();
    static_cast<device::HostQueue&>(rank.device.ComputeStream()).Put([go] {
      go->WaitForNotification();
    });
    EXPECT_EQ(transport->AllGather({memory->data(), 1}).code(),
              absl::StatusCode::kDeadlineExceeded);
    transport.reset();
    go->Notify();
  });
  EXPECT_EQ(ranks.Await(0), 0);
}

// After so many exchanges.
class NcclAbortAtTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Exchanges, NcclAbortAtTest, testing::Range(0, 12),
                         testing::PrintToStringParamName());

TEST_P(NcclAbortAtTest, AbortOfOneRank_CancelledThereAndUnavailableOnTheOther) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    const auto transport = rank.Connect();
    std::atomic<int> exchanges = 0;
    std::thread aborter([&] {
      if (rank.self.rank == Rank(1)) return;
      while (exchanges < GetParam()) std::this_thread::yield();
      transport->Abort();
    });
    absl::Status status;
    while (status.ok()) {
      status = AllGather(*transport, 100);
      ++exchanges;
    }
    EXPECT_EQ(status.code(), rank.self.rank == Rank(0) ? absl::StatusCode::kCancelled
                                                       : absl::StatusCode::kUnavailable)
        << status;
    aborter.join();
  });
  ExpectAllEnded(ranks, 2);
}

TEST(NcclAbortTest, TransportGoesAndTheOthersTakeNoLeave_WaitsAsLongAsTheEndMayTake) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    setenv("TANDEM_STAND_IN_NCCL_FAULT", "leave", 1);
    auto transport = rank.Connect({.ending_timeout = kShort});
    EXPECT_TRUE(transport->Barrier().ok());
    if (rank.self.rank == Rank(1)) raise(SIGSTOP);
    const absl::Time begin = absl::Now();
    transport.reset();
    EXPECT_GE(absl::Now() - begin, kShort);
  });
  EXPECT_EQ(ranks.Await(0), 0);
}

}  // namespace
}  // namespace tandem::nccl
