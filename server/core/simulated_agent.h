#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/core/cluster.h"
#include "server/core/small_cluster.h"

namespace tandem::core {

// An agent for simulations. It obeys the contract of worker.proto; when it does what is up to the
// simulation.
class SimulatedAgent {
 public:
  enum class Stage { kLoading, kReady, kTraining, kFinished, kFailed };
  struct Process {
    RankId id;
    std::string slot;
    Stage stage = Stage::kLoading;
    bool aborted = false;
    uint64_t step = 0;
  };

  SimulatedAgent(std::string name, int slots) : name_(std::move(name)), slots_(slots) {}

  const std::string& name() const { return name_; }
  Incarnation incarnation() const { return Incarnation(std::to_string(incarnation_)); }
  std::optional<ConnectionId> connection() const { return connection_; }
  std::vector<Process>& processes() { return processes_; }
  const std::vector<Process>& processes() const { return processes_; }

  // The agent is killed, and its processes with it.
  void Restart() {
    ++incarnation_;
    processes_.clear();
    Disconnect();
  }
  void Disconnect() {
    connection_.reset();
    inbox_.clear();
  }
  v1::Register Connect(ConnectionId connection) {
    Disconnect();
    connection_ = connection;
    v1::Register registration = SmallCluster::Registration(name_, slots_, incarnation().value());
    for (const Process& process : processes_) {
      v1::RunningRank& running = *registration.add_running();
      Address(process, running);
      running.set_slot(process.slot);
    }
    return registration;
  }

  void Send(const v1::CoordinatorToWorker& message) { inbox_.push_back(message); }
  bool HasMail() const { return !inbox_.empty(); }
  void ReadOne() {
    const v1::CoordinatorToWorker message = inbox_.front();
    inbox_.pop_front();
    if (message.has_prepare_ranks()) Prepare(message.prepare_ranks());
    if (message.has_start_ranks()) Start(message.start_ranks().start());
    if (message.has_abort()) Abort(message.abort());
  }

  v1::WorkerToCoordinator Heartbeat() const {
    v1::WorkerToCoordinator message;
    message.mutable_heartbeat();
    for (const Process& process : processes_) {
      v1::RankPosition& position = *message.mutable_heartbeat()->add_ranks();
      Address(process, position);
      position.set_step(process.step);
    }
    return message;
  }

  template <typename Message>
  static void Address(const Process& process, Message& message) {
    message.set_job_id(process.id.job.value());
    message.set_attempt(process.id.attempt.value());
    message.set_rank(process.id.rank.value());
  }

 private:
  void Prepare(const v1::PrepareRanks& prepare) {
    for (const v1::RankPlacement& placement : prepare.ranks()) {
      for (const Process& other : processes_) {
        EXPECT_NE(other.slot, placement.slot()) << "two ranks on one slot of " << name_;
      }
      processes_.push_back(
          {{JobId(prepare.job_id()), AttemptNumber(prepare.attempt()), Rank(placement.rank())},
           placement.slot()});
    }
  }
  void Start(const v1::Start& start) {
    for (Process& process : processes_) {
      if (process.id.job.value() != start.job_id()) continue;
      if (process.id.attempt.value() != start.attempt()) continue;
      EXPECT_NE(process.stage, Stage::kLoading) << "started before it was ready";
      if (process.stage == Stage::kReady) process.stage = Stage::kTraining;
    }
  }
  void Abort(const v1::Abort& abort) {
    for (Process& process : processes_) {
      if (process.id.job.value() != abort.job_id()) continue;
      if (process.id.attempt.value() == abort.attempt()) process.aborted = true;
    }
  }

  const std::string name_;
  const int slots_;
  uint64_t incarnation_ = 1;
  std::optional<ConnectionId> connection_;
  std::deque<v1::CoordinatorToWorker> inbox_;
  std::vector<Process> processes_;
};

}  // namespace tandem::core
