#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/ids.h"
#include "tandem/v1/worker.pb.h"
#include "worker/agent/attempt_memory.h"
#include "worker/agent/coordinator_link.h"
#include "worker/agent/host_watch.h"
#include "worker/agent/rank_key.h"
#include "worker/agent/rank_runner.h"
#include "worker/process/event_loop.h"

// The agent: one process per host that offers slots to the coordinator and runs a trainer on each
// slot it is told to.
//
// Threads: one loop (event_loop.h) owns all state, reads all pipes and sockets, and forks all
// trainers, so it must be a thread that lives as long as the process: the kernel kills a trainer
// when the thread that forked it ends. gRPC's threads only post to the loop. It waits for no
// coordinator and no trainer; what it does wait for is short: the disk that the log files are on,
// the name service when it connects (route.h), and a new trainer's exec (spawn.h).
namespace tandem::agent {

struct AgentOptions {
  std::string coordinator = {};  // HOST:PORT
  WorkerName name = {};
  Incarnation incarnation = {};
  std::string host = {};
  // Empty: found out when connecting.
  std::string advertise_address = {};
  // "cpu:0", "cuda:1", ...
  std::vector<std::string> slots = {};
  // What is known of this host's devices; nothing where nobody asked for one.
  v1::ProbeReport host_devices = {};
  RankOptions ranks = {};
  Backoff::Policy backoff = {};
  // Zero: never.
  absl::Duration exit_when_coordinator_gone = {};
  HostWatch::Options host_watch = {};
};

// Loop only.
class Agent : private CoordinatorLink::Owner {
 public:
  Agent(EventLoop* loop, const Clock* clock, AgentOptions options);

  // Connects, and serves until Shutdown or until the coordinator refuses this agent; then stops the
  // loop.
  void Start();
  // Stops all trainers, tells the coordinator of their ends if it can be reached, and stops the
  // loop. Later calls change nothing.
  void Shutdown(const absl::Status& outcome);
  // Once the loop has stopped: what Shutdown was given. FailedPrecondition or InvalidArgument: the
  // coordinator refused this agent. Unavailable: the coordinator has been gone for too long.
  const absl::Status& outcome() const { return outcome_; }

 private:
  // Nobody looks while a rank runs.
  HostWatch::Options WhileIdle(HostWatch::Options options) const;

  absl::StatusOr<v1::Register> MakeRegister() override;
  v1::Heartbeat MakeHeartbeat() override;
  void OnConnected(const v1::Registered& registered) override;
  void OnMessage(const v1::CoordinatorToWorker& message) override;
  void OnAcknowledged(const v1::WorkerToCoordinator& message) override;
  void OnDisconnected(const absl::Status& why) override;
  void OnRefused(const absl::Status& why) override;

  void PrepareRanks(const v1::PrepareRanks& request);
  void PrepareRank(const v1::Prepare& prepare);
  // Why this rank cannot be started now.
  absl::Status CheckPlacement(const v1::Prepare& prepare) const;
  absl::Status StartRank(const v1::Prepare& prepare);
  // Ends a rank that never began: with a failure, or as aborted if `why` is Cancelled.
  void RefuseRank(const RankKey& key, const absl::Status& why);
  void StartRanks(const v1::Start& start);
  void PauseRanks(const v1::PauseRanks& pause);
  void AbortRanks(const v1::Abort& abort);
  // The coordinator has been away for longer than the lease.
  void StopRanksThatWantIt();
  void OnRankExited(const RankKey& key);

  void WatchForAbsence();
  // Ends the connection, and then the loop.
  void Close();

  EventLoop& loop_;
  const Clock& clock_;
  const AgentOptions options_;
  CoordinatorLink link_;
  std::string advertise_address_;
  HostWatch host_watch_;
  AttemptMemory memory_;
  std::map<RankKey, std::unique_ptr<RankRunner>> running_;
  // Ranks whose RankExited has not been acknowledged: while the coordinator has not heard of it, they
  // run for it.
  std::map<RankKey, v1::RunningRank> unreported_;
  // Exited, and destroyed once the callback that said so is over.
  std::vector<std::unique_ptr<RankRunner>> exited_;
  std::string printed_reason_;
  bool stopping_ = false;
  bool closing_ = false;
  absl::Status outcome_;
  // As the coordinator said last.
  absl::Duration lease_;
  EventLoop::Registration absence_timer_, lease_timer_, stop_timer_;
};

}  // namespace tandem::agent
