#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/ddp/membership.h"
#include "worker/ddp/transport.h"
#include "worker/device/testing/host_device.h"
#include "worker/nccl/nccl_library.h"
#include "worker/nccl/nccl_transport.h"

// For tests: ranks that are connected by the stand-in for NCCL, each with a device of its own that is
// made of the host.
namespace tandem::nccl {

std::unique_ptr<NcclLibrary> LoadStandIn();

// How many exchanges the stand-in has put into this process's streams.
uint64_t StandInLaunches();

ddp::Membership RankOf(uint32_t rank, uint32_t world_size);

struct NcclRank {
  ddp::Membership self;
  std::string id;
  const NcclLibrary& library;
  device::HostDevice device;

  absl::StatusOr<std::unique_ptr<ddp::Transport>> TryToConnect(const NcclOptions& options = {});
  // Which succeeds.
  std::unique_ptr<ddp::Transport> Connect(const NcclOptions& options = {});
};

// Holds up processes that are forked after it, until the test lets them go.
class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void Pass() const;
  // For one of them.
  void Open() const;

 private:
  int pipe_[2] = {-1, -1};
};

using RankBody = std::function<void(NcclRank&)>;

// Runs `body` as every rank, each in a thread.
void RunThreads(uint32_t world_size, const RankBody& body,
                const device::HostDevice::Options& device = {});

// Every rank as a process, also rank 0, which mints the id: so this one keeps to one thread, and can
// fork again.
class RankProcesses {
 public:
  RankProcesses(uint32_t world_size, const RankBody& body);
  // Kills those that still run.
  ~RankProcesses();

  // Until the rank has ended: its status, as of waitpid; 0 if its body found nothing wrong. -1: it has
  // not ended within `patience`.
  int Await(uint32_t rank, absl::Duration patience = absl::Seconds(30));
  void Kill(uint32_t rank);

 private:
  void Run(uint32_t rank, uint32_t world_size, const RankBody& body);

  int id_pipe_[2] = {-1, -1};
  std::vector<pid_t> pids_;  // by rank; 0: has ended
};

}  // namespace tandem::nccl
