// That the stand-in for NCCL finds out what must never be done to NCCL. Each misuse is that of a
// process of its own, which it ends.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "worker/nccl/nccl_ranks.h"

namespace tandem::nccl {
namespace {

// A communicator of one rank, connected by hand.
class Alone {
 public:
  explicit Alone(NcclRank& rank) : api(rank.library.api()), stream(*rank.device.MakeStream()) {
    NcclConfig config;
    config.blocking = 0;
    NcclUniqueId id;
    rank.id.copy(id.bytes, sizeof(id.bytes));
    EXPECT_EQ(api.comm_init_rank_config(&comm, 1, id, 0, &config), NcclResult::kInProgress);
    while (State() == NcclResult::kInProgress) std::this_thread::yield();
    EXPECT_EQ(State(), NcclResult::kSuccess);
  }

  NcclResult State() const {
    NcclResult state;
    EXPECT_EQ(api.comm_get_async_error(comm, &state), NcclResult::kSuccess);
    return state;
  }

  const NcclApi& api;
  NcclComm* comm = nullptr;
  const std::unique_ptr<device::Stream> stream;
};

void ExpectEndsTheProcess(const RankBody& misuse) {
  RankProcesses ranks(1, misuse);
  const int status = ranks.Await(0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
}

TEST(StandInTest, TwoThreadsInsideOneCommunicator_EndsTheProcess) {
  ExpectEndsTheProcess([](NcclRank& rank) {
    const Alone alone(rank);
    const auto memory = *rank.device.Allocate(1);
    alone.api.group_start();  // inside until its end
    alone.api.send(memory->data(), 1, NcclDataType::kUint8, 0, alone.comm, alone.stream->handle());
    std::thread([&] { alone.State(); }).join();
  });
}

TEST(StandInTest, CommunicatorUsedAfterItsEnd_EndsTheProcess) {
  ExpectEndsTheProcess([](NcclRank& rank) {
    const Alone alone(rank);
    EXPECT_EQ(alone.api.comm_abort(alone.comm), NcclResult::kSuccess);
    alone.State();
  });
}

TEST(StandInTest, BufferInMainMemory_EndsTheProcess) {
  ExpectEndsTheProcess([](NcclRank& rank) {
    const Alone alone(rank);
    char main = 0;
    alone.api.all_gather(&main, &main, 1, NcclDataType::kUint8, alone.comm, alone.stream->handle());
  });
}

TEST(StandInTest, CallWhileInProgress_InvalidArgument) {
  RankProcesses ranks(2, [](NcclRank& rank) {
    if (rank.self.rank == Rank(1)) return;  // never comes
    NcclConfig config;
    config.blocking = 0;
    NcclUniqueId id;
    rank.id.copy(id.bytes, sizeof(id.bytes));
    const NcclApi& api = rank.library.api();
    NcclComm* comm = nullptr;
    EXPECT_EQ(api.comm_init_rank_config(&comm, 2, id, 0, &config), NcclResult::kInProgress);
    EXPECT_EQ(api.comm_finalize(comm), NcclResult::kInvalidArgument);
    EXPECT_EQ(api.comm_abort(comm), NcclResult::kSuccess);
  });
  EXPECT_EQ(ranks.Await(0), 0);
}

}  // namespace
}  // namespace tandem::nccl
