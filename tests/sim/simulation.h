#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "server/core/coordinator.h"
#include "tests/sim/agent.h"
#include "tests/sim/checkpoints.h"

namespace tandem::sim {

// A coordinator, its journal and the agents of a few workers or thousands, under one clock and on one
// network, driven by chance from one seed: submissions, cancels, resizes and drains; delayed messages and broken
// connections; crashes of every process; a disk that takes nothing for a while. After every event it checks
// what must always hold, and notes what did not.
class Simulation {
 public:
  struct Options {
    uint64_t seed = 1;
    int workers = 5;
    int jobs = 12;
    // Agents are not killed, nor cut off for longer than their lease: then no reported step may be missing
    // from the history.
    bool agents_live = false;
    // Control: takes away a remedy, which must be noticed.
    bool agents_forget_what_was_sent = false;
  };

  explicit Simulation(const Options& options);

  // One thing happens.
  void Step();
  // No more faults: everything that is under way may end.
  void Settle();

  // What did not hold, in words, as it was found.
  const std::vector<std::string>& violations() const { return violations_; }
  std::map<v1::JobState, int> Outcomes() const;
  uint32_t attempts() const;
  // Every effect so far, as bytes.
  const std::string& trace() const { return trace_; }

 private:
  // The connection of one agent: messages under way, each with the time of its arrival.
  struct Link {
    core::ConnectionId connection;
    std::deque<std::pair<absl::Duration, v1::WorkerToCoordinator>> up;
    std::deque<std::pair<absl::Duration, v1::CoordinatorToWorker>> down;
    bool registered = false;
    absl::Duration next_heartbeat;
  };
  struct Host {
    Agent agent;
    std::optional<Link> link;
    // Nothing gets through before.
    absl::Duration cut_until;
    absl::Duration next_try;
  };

  // Some workers have devices, or devices too.
  bool IsMixed() const { return options_.seed % 4 >= 2; }
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  bool Chance(uint64_t one_in) { return Below(one_in) == 0; }
  Host& AnyHost() { return hosts_[Below(hosts_.size())]; }
  std::string AnyJob() { return "job-" + std::to_string(1 + Below(last_job_)); }
  absl::Duration Now() const { return clock_.Now().steady; }

  // Things that happen: simulation.cc
  void Submit();
  void SubmitToFullDisk();
  void AskForSomething();
  void RestartCoordinator();
  void HarmHost(Host& host);
  void HarmProcess(Host& host);
  void Break(Host& host, bool noticed);
  void Live(Host& host, bool faults);
  void PassTime(absl::Duration by, bool faults);
  bool AllEnded() const;
  std::vector<std::string> SlotsOf(int worker) const;

  // The network and the journal: network.cc
  void Connect(Host& host);
  void Transport(Host& host, bool faults);
  void Arrive(Host& host, const v1::WorkerToCoordinator& message);
  core::Effects Apply(const core::Event& event);
  // While the disk takes nothing, events wait.
  void Happen(const core::Event& event);
  void Carry(const core::Effects& effects);
  void Do(const core::PersistJob& persist);
  void Do(const core::ForgetJob& forget);
  void Do(const core::PersistDrain& drain);
  void Do(const core::RecordHistory& record);
  void Do(const core::AcknowledgeWorker& acknowledge);
  void Do(const core::SendToWorker& send);
  void Do(const core::CloseWorker& close);
  template <typename Other>
  void Do(const Other&) {}
  void SendDown(core::ConnectionId connection, const v1::CoordinatorToWorker& message);

  // What must always hold: invariants.cc
  void Expect(bool holds, const std::string& what);
  std::map<std::string, std::string> Views() const;
  void CheckChanges(const core::Effects& effects);
  void CheckRecord(const v1::Job& before, const v1::Job& after);
  void CheckKind(const v1::Job& before, const v1::Job& after);
  void CheckOrder(const core::SendToWorker& send);
  void CheckSlots();
  void CheckProcesses();
  void CheckQueue();
  // Of those that want this kind.
  void CheckFirstInLine(const std::string& kind, uint32_t free, bool has_devices);
  void CheckNothingLost();
  void CheckHistory();
  void CheckSlotsAreFree();

  const Options options_;
  std::mt19937_64 random_;
  FakeClock clock_;
  Checkpoints checkpoints_;
  std::optional<core::Coordinator> coordinator_;
  std::vector<Host> hosts_;
  absl::Duration next_tick_;

  // The journal, and what waits for its disk.
  std::map<std::string, v1::JobRecord> journal_;
  std::set<WorkerName> draining_;
  std::map<std::string, std::set<uint64_t>> history_;
  absl::Duration disk_full_until_;
  std::deque<core::Event> held_;

  std::set<std::string> submitted_;
  // What the ranks of an attempt were told to meet at.
  std::map<std::pair<std::string, uint32_t>, std::string> starts_;
  std::map<std::string, std::string> views_;
  std::string trace_;
  std::vector<std::string> violations_;
  uint64_t last_job_ = 0;
  uint64_t last_connection_ = 0;
};

}  // namespace tandem::sim
