#include "worker/ddp/gloo_transport.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

#include "worker/ddp/local_transport.h"
#include "worker/ddp/reduction_scene.h"

namespace tandem::ddp {
namespace {

using ::testing::HasSubstr;
using RankBody = std::function<void(Transport&)>;

constexpr absl::Duration kPatience = absl::Seconds(30);

Membership RankOf(uint32_t rank, uint32_t world_size) {
  return {JobId("job"), AttemptNumber(1), Rank(rank), world_size};
}

std::unique_ptr<Transport> Connect(Rendezvous& rendezvous, const GlooOptions& options) {
  const absl::Status met = rendezvous.AwaitAll(kPatience);
  EXPECT_TRUE(met.ok()) << met;
  auto transport = ConnectGloo(rendezvous, options);
  EXPECT_TRUE(transport.ok()) << transport.status();
  return *std::move(transport);
}

void JoinAndRun(uint32_t rank, uint32_t world_size, uint16_t port, const RankBody& body) {
  auto rendezvous = Rendezvous::Connect(RankOf(rank, world_size), "127.0.0.1", port, kPatience);
  ASSERT_TRUE(rendezvous.ok()) << rendezvous.status();
  body(*Connect(**rendezvous, {}));
}

// Runs `body` as every rank, rank 0 here and each other one in a thread.
void RunThreads(uint32_t world_size, const RankBody& body, const GlooOptions& options = {}) {
  auto host = *Rendezvous::Host(RankOf(0, world_size), "127.0.0.1");
  std::vector<std::thread> others;
  for (uint32_t rank = 1; rank < world_size; ++rank) {
    others.emplace_back([&, rank] { JoinAndRun(rank, world_size, host->port(), body); });
  }
  body(*Connect(*host, options));
  for (std::thread& other : others) other.join();
}

// The other ranks as processes. Each waits for the port. Kernels keep to one thread: a team of
// OpenMP does not survive a fork.
class OtherProcesses {
 public:
  OtherProcesses(uint32_t world_size, const RankBody& body) : world_size_(world_size) {
    at::set_num_threads(1);
    EXPECT_EQ(pipe(port_pipe_), 0);
    for (uint32_t rank = 1; rank < world_size; ++rank) Start(rank, body);
  }
  ~OtherProcesses() {
    for (const pid_t pid : pids_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    close(port_pipe_[0]);
    close(port_pipe_[1]);
  }

  void TellPort(uint16_t port) {
    for (uint32_t rank = 1; rank < world_size_; ++rank) {
      EXPECT_EQ(write(port_pipe_[1], &port, sizeof(port)), ssize_t{sizeof(port)});
    }
  }

  // Exit statuses, as of waitpid.
  std::vector<int> Await() {
    std::vector<int> statuses(pids_.size());
    for (size_t i = 0; i < pids_.size(); ++i) waitpid(pids_[i], &statuses[i], 0);
    pids_.clear();
    return statuses;
  }

 private:
  void Start(uint32_t rank, const RankBody& body) {
    const pid_t pid = fork();
    if (pid > 0) pids_.push_back(pid);
    if (pid != 0) return;
    uint16_t port = 0;
    if (read(port_pipe_[0], &port, sizeof(port)) != ssize_t{sizeof(port)}) _exit(1);
    JoinAndRun(rank, world_size_, port, body);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }

  const uint32_t world_size_;
  int port_pipe_[2] = {-1, -1};
  std::vector<pid_t> pids_;
};

ReductionScene EightLeaves() {
  ReductionScene scene = ReductionScene::Random(8, {{300, 33}, {33}, {1}}, 23);
  for (const size_t leaf : {0, 1, 2, 6}) scene.leaves[leaf][1].reset();
  scene.count = 11;
  return scene;
}

class GlooProcessesTest : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(WorldSizes, GlooProcessesTest, testing::Values(2, 3),
                         testing::PrintToStringParamName());

TEST_P(GlooProcessesTest, Gradients_SameBitsAsOnOneRank) {
  const auto reduce = [](Transport& transport) {
    const auto result = Reduce(EightLeaves(), transport, {.bucket_bytes = 1 << 10});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(SameBits(*result, Definition(EightLeaves())));
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

TEST(GlooTransportTest, PeerSilent_DeadlineExceeded) {
  OtherProcesses others(2, [](Transport&) { pause(); });
  auto host = *Rendezvous::Host(RankOf(0, 2), "127.0.0.1");
  others.TellPort(host->port());
  const auto transport = Connect(*host, {.exchange_timeout = absl::Milliseconds(200)});
  const absl::Status status = transport->Barrier();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1"));
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
