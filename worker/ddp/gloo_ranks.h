#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "worker/ddp/gloo_transport.h"
#include "worker/ddp/rendezvous.h"
#include "worker/ddp/transport.h"

// For tests: the ranks of a job, connected by Gloo over the loopback interface.
namespace tandem::ddp {

using RankBody = std::function<void(Transport&)>;

Membership RankOf(uint32_t rank, uint32_t world_size);
// After AwaitAll.
std::unique_ptr<Transport> Connect(Rendezvous& rendezvous, const GlooOptions& options);

// Runs `body` as every rank, rank 0 here and each other one in a thread.
void RunThreads(uint32_t world_size, const RankBody& body, const GlooOptions& options = {});

// The other ranks as processes. Each waits for the port. Kernels keep to one thread: a team of
// OpenMP does not survive a fork.
class OtherProcesses {
 public:
  OtherProcesses(uint32_t world_size, const RankBody& body);
  // Kills those that still run.
  ~OtherProcesses();

  void TellPort(uint16_t port);
  // Exit statuses, as of waitpid.
  std::vector<int> Await();

 private:
  void Start(uint32_t rank, const RankBody& body);

  const uint32_t world_size_;
  int port_pipe_[2] = {-1, -1};
  std::vector<pid_t> pids_;
};

}  // namespace tandem::ddp
