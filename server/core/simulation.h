#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "server/core/coordinator.h"
#include "server/core/simulated_agent.h"

namespace tandem::core {

// A coordinator, its journal and a few agents, driven by chance from one seed: submissions,
// cancels, crashes of every process, lost connections, late and repeated messages, time. After
// every event it checks what must always hold, with GoogleTest's expectations.
class Simulation {
 public:
  explicit Simulation(uint64_t seed);

  // One thing happens.
  void Step();
  // No more faults: everything that is under way may end.
  void Settle();

  bool AllEnded() const;
  std::map<v1::JobState, int> Outcomes() const;
  // Every effect so far, as bytes.
  const std::string& trace() const { return trace_; }

 private:
  using Agent = SimulatedAgent;

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  Agent& AnyAgent() { return agents_[Below(agents_.size())]; }

  // Things that happen.
  void Submit();
  void SubmitToFullDisk();
  void Cancel();
  void ConnectAgent(Agent& agent);
  void ConnectImpostor();
  void LoseConnection(Agent& agent);
  void CrashAgent(Agent& agent);
  void RestartCoordinator();
  void LetTimePass(absl::Duration by);
  void RepeatSomething();
  void AdvanceProcess(Agent& agent, size_t index, bool faults);
  void TakeStep(Agent::Process& process, v1::RankProgress* progress);
  void EndProcess(Agent& agent, size_t index, bool faults);
  void Fault(Agent& agent, size_t index);

  void Tell(Agent& agent, const v1::WorkerToCoordinator& message);
  Effects Apply(const Event& event);
  void Happen(const Event& event) { Carry(Apply(event)); }
  // Does what the effects say.
  void Carry(const Effects& effects);
  void Do(const PersistJob& persist);
  void Do(const SendToWorker& send);
  void Do(const CloseWorker& close);
  template <typename Other>
  void Do(const Other&) {}

  // What must always hold.
  std::map<std::string, std::string> Views() const;
  void CheckChanges(const Effects& effects);
  void CheckRecord(const v1::Job& before, const v1::Job& after) const;
  void CheckSlots() const;
  void CheckQueue() const;
  void CheckNothingLost() const;
  void CheckEvidence() const;
  // As a job has it that did every step up to this one, from its start or from a checkpoint.
  static uint64_t ReceiptAt(uint64_t step) { return step == 0 ? 0 : 1000 + step; }

  std::mt19937_64 random_;
  FakeClock clock_;
  std::optional<Coordinator> coordinator_;
  std::vector<Agent> agents_;
  std::map<std::string, v1::JobRecord> journal_;
  std::map<std::string, std::string> views_;  // as clients last saw them
  std::set<std::string> submitted_;
  std::vector<Event> past_;
  uint64_t last_connection_ = 0;
  uint64_t last_job_ = 0;
  std::string trace_;
};

}  // namespace tandem::core
