#include "worker/ddp/gloo_ranks.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <utility>

namespace tandem::ddp {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

void JoinAndRun(uint32_t rank, uint32_t world_size, uint16_t port, const RankBody& body) {
  auto rendezvous = Rendezvous::Connect(RankOf(rank, world_size), "127.0.0.1", port, kPatience);
  ASSERT_TRUE(rendezvous.ok()) << rendezvous.status();
  body(*Connect(**rendezvous, {}));
}

}  // namespace

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

void RunThreads(uint32_t world_size, const RankBody& body, const GlooOptions& options) {
  auto host = *Rendezvous::Host(RankOf(0, world_size), "127.0.0.1");
  std::vector<std::thread> others;
  for (uint32_t rank = 1; rank < world_size; ++rank) {
    others.emplace_back([&, rank] { JoinAndRun(rank, world_size, host->port(), body); });
  }
  body(*Connect(*host, options));
  for (std::thread& other : others) other.join();
}

OtherProcesses::OtherProcesses(uint32_t world_size, const RankBody& body)
    : world_size_(world_size) {
  at::set_num_threads(1);
  EXPECT_EQ(pipe(port_pipe_), 0);
  for (uint32_t rank = 1; rank < world_size; ++rank) Start(rank, body);
}

OtherProcesses::~OtherProcesses() {
  for (const pid_t pid : pids_) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  close(port_pipe_[0]);
  close(port_pipe_[1]);
}

void OtherProcesses::TellPort(uint16_t port) {
  for (uint32_t rank = 1; rank < world_size_; ++rank) {
    EXPECT_EQ(write(port_pipe_[1], &port, sizeof(port)), ssize_t{sizeof(port)});
  }
}

std::vector<int> OtherProcesses::Await() {
  std::vector<int> statuses(pids_.size());
  for (size_t i = 0; i < pids_.size(); ++i) waitpid(pids_[i], &statuses[i], 0);
  pids_.clear();
  return statuses;
}

void OtherProcesses::Start(uint32_t rank, const RankBody& body) {
  const pid_t pid = fork();
  if (pid > 0) pids_.push_back(pid);
  if (pid != 0) return;
  uint16_t port = 0;
  if (read(port_pipe_[0], &port, sizeof(port)) != ssize_t{sizeof(port)}) _exit(1);
  JoinAndRun(rank, world_size_, port, body);
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace tandem::ddp
