#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/core/cluster.h"
#include "tandem/v1/worker.pb.h"
#include "tests/sim/checkpoints.h"

namespace tandem::sim {

// A worker's agent and the trainers it runs. It obeys the contract of worker.proto; when it does what is up
// to the simulation.
class Agent {
 public:
  enum class Stage { kLoading, kReady, kTraining, kFinished, kPaused, kFailed };
  struct Process {
    core::RankId id;
    std::string slot;
    Stage stage = Stage::kLoading;
    bool aborted = false;
    bool pause_wanted = false;
    uint64_t step = 0;
    // It has said how it ended, and only has to exit.
    bool IsOver() const { return aborted || stage >= Stage::kFinished; }
  };

  // `checkpoints` outlives it.
  Agent(std::string name, std::vector<std::string> slots, Checkpoints* checkpoints)
      : name_(std::move(name)), slots_(std::move(slots)), checkpoints_(*checkpoints) {}

  // What rank 0 of this attempt announces on a device.
  static std::string NcclIdOf(const std::string& job, uint32_t attempt);

  const std::string& name() const { return name_; }
  std::string incarnation() const { return name_ + "-" + std::to_string(incarnation_); }
  std::vector<Process>& processes() { return processes_; }
  const std::vector<Process>& processes() const { return processes_; }

  // The agent is killed, and its processes with it.
  void Restart();
  // The first message of a new connection; what has not been acknowledged is to be sent again.
  v1::Register Registration();
  v1::WorkerToCoordinator Heartbeat() const;

  void Receive(const v1::CoordinatorToWorker& message);
  // The next message to be sent over this connection, if there is one.
  std::optional<v1::WorkerToCoordinator> NextToSend();

  // The process does what it does next. False: it waits for something.
  bool Advance(size_t index, uint64_t total_steps);
  // Its program ends: killed, or with a report of its own before that.
  void Kill(size_t index);
  void ReportFailure(size_t index, v1::CauseCode code);

  // Control: what was sent is forgotten, acknowledged or not.
  void ForgetWhatWasSent() { forgets_ = true; }

 private:
  template <typename Message>
  static void Address(const Process& process, Message& message) {
    message.set_job_id(process.id.job.value());
    message.set_attempt(process.id.attempt.value());
    message.set_rank(process.id.rank.value());
  }
  void Say(v1::WorkerToCoordinator message);
  void Prepare(const v1::PrepareRanks& prepare);
  void PrepareRank(const core::RankId& id, const std::string& slot);
  void ForEachOf(const std::string& job, uint32_t attempt,
                 const std::function<void(Process&)>& visit);
  void Load(Process& process, uint64_t total_steps);
  void Train(Process& process, uint64_t total_steps);
  void Exit(size_t index);
  // `exit` says how.
  void End(size_t index, v1::RankExited exit);
  void NoteReported(const v1::WorkerToCoordinator& message);

  const std::string name_;
  const std::vector<std::string> slots_;
  Checkpoints& checkpoints_;
  uint64_t incarnation_ = 1;
  std::vector<Process> processes_;
  // What it remembers of attempts: a repeated order starts nothing.
  std::set<core::RankId> prepared_;
  std::set<std::pair<std::string, uint32_t>> aborted_;
  // Numbered, and kept until acknowledged.
  std::deque<v1::WorkerToCoordinator> outbox_;
  std::map<core::RankId, std::string> unreported_;
  size_t sent_ = 0;
  uint64_t last_sequence_ = 0;
  bool forgets_ = false;
};

}  // namespace tandem::sim
