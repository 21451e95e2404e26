#include "worker/nccl/nccl_ranks.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <utility>

#include "worker/nccl/patience.h"

namespace tandem::nccl {
namespace {

std::string Mint(const NcclLibrary& library) {
  const absl::StatusOr<std::string> id = library.MintUniqueId();
  EXPECT_TRUE(id.ok()) << id.status();
  return id.value_or("");
}

}  // namespace

std::unique_ptr<NcclLibrary> LoadStandIn() {
  auto library = NcclLibrary::Load(TANDEM_STAND_IN_NCCL);
  EXPECT_TRUE(library.ok()) << library.status();
  return *std::move(library);
}

uint64_t StandInLaunches() {
  void* stand_in = dlopen(TANDEM_STAND_IN_NCCL, RTLD_NOW);  // the one that is loaded
  return reinterpret_cast<uint64_t (*)()>(dlsym(stand_in, "standInLaunches"))();
}

ddp::Membership RankOf(uint32_t rank, uint32_t world_size) {
  return {JobId("job"), AttemptNumber(1), Rank(rank), world_size};
}

absl::StatusOr<std::unique_ptr<ddp::Transport>> NcclRank::TryToConnect(const NcclOptions& options) {
  return ConnectNccl(library, device, self, id, options);
}

std::unique_ptr<ddp::Transport> NcclRank::Connect(const NcclOptions& options) {
  auto transport = TryToConnect(options);
  EXPECT_TRUE(transport.ok()) << transport.status();
  return *std::move(transport);
}

void RunThreads(uint32_t world_size, const RankBody& body,
                const device::HostDevice::Options& device) {
  const auto library = LoadStandIn();
  const std::string id = Mint(*library);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      NcclRank self{RankOf(rank, world_size), id, *library, device::HostDevice(device)};
      body(self);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Gate::Gate() { EXPECT_EQ(pipe(pipe_), 0); }

Gate::~Gate() {
  close(pipe_[0]);
  close(pipe_[1]);
}

void Gate::Pass() const {
  char pass;
  EXPECT_EQ(read(pipe_[0], &pass, 1), 1);
}

void Gate::Open() const { EXPECT_EQ(write(pipe_[1], "", 1), 1); }

RankProcesses::RankProcesses(uint32_t world_size, const RankBody& body) {
  EXPECT_EQ(pipe(id_pipe_), 0);
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) Run(rank, world_size, body);
    pids_.push_back(pid);
  }
}

RankProcesses::~RankProcesses() {
  for (uint32_t rank = 0; rank < pids_.size(); ++rank) {
    if (pids_[rank] == 0) continue;
    Kill(rank);
    Await(rank);
  }
  close(id_pipe_[0]);
  close(id_pipe_[1]);
}

int RankProcesses::Await(uint32_t rank, absl::Duration patience) {
  int status = 0;
  const auto has_ended = [&] { return waitpid(pids_[rank], &status, WNOHANG) != 0; };
  if (!*Patience(patience).Until(has_ended)) return -1;
  pids_[rank] = 0;
  return status;
}

void RankProcesses::Kill(uint32_t rank) { kill(pids_[rank], SIGKILL); }

void RankProcesses::Run(uint32_t rank, uint32_t world_size, const RankBody& body) {
  const auto library = LoadStandIn();
  std::string id;
  if (rank == 0) {
    id = Mint(*library);
    for (uint32_t other = 1; other < world_size; ++other) {
      EXPECT_EQ(write(id_pipe_[1], id.data(), id.size()), static_cast<ssize_t>(id.size()));
    }
  } else {
    id.resize(sizeof(NcclUniqueId));
    EXPECT_EQ(read(id_pipe_[0], id.data(), id.size()), static_cast<ssize_t>(id.size()));
  }
  {
    NcclRank self{RankOf(rank, world_size), id, *library, {}};
    body(self);
  }
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace tandem::nccl
