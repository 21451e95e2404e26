#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/version.h"
#include "server/core/coordinator.h"

namespace tandem::core {

// A few workers and jobs for tests: says what agents and clients would say, with everything that a
// test does not care about filled in. `effects` are those of the last event.
class SmallCluster {
 public:
  SmallCluster() {
    coordinator_.emplace(Options{});
    clock.Advance(absl::Hours(1));
  }
  Coordinator& core() { return *coordinator_; }
  const Coordinator& core() const { return *coordinator_; }

  void Submit(const std::string& id, uint32_t world_size = 1, const std::string& request_id = "") {
    spec.set_name("name-of-" + id);
    spec.set_workers(world_size);
    spec.set_logical_ranks(std::max(spec.logical_ranks(), world_size));
    Apply(JobSubmitted{JobId(id), std::exchange(spec, {}), request_id});
    Effects first = std::move(effects);
    Apply(TimePassed{});
    first.insert(first.end(), effects.begin(), effects.end());
    effects = std::move(first);
  }
  void Cancel(const std::string& id) { Apply(CancelRequested{JobId(id)}); }
  void Pass(absl::Duration by) {
    clock.Advance(by);
    Apply(TimePassed{});
  }

  // Passes time while all workers beat, so that no lease runs out. `effects` are those of the end.
  void BeatThrough(absl::Duration by) {
    for (const absl::Duration pause = absl::Seconds(1); by > pause; by -= pause) {
      clock.Advance(pause);
      for (const auto& [name, agent] : agents_) {
        if (!lost_.contains(name)) Beat(name);
      }
    }
    Pass(by);
  }

  static v1::Register Registration(const std::string& name, int slots,
                                   const std::string& incarnation = "first",
                                   const std::string& kind = "cpu") {
    v1::Register registration;
    registration.set_name(name);
    registration.set_incarnation(incarnation);
    registration.set_host("host-of-" + name);
    registration.set_advertise_address("10.0.0." + name);
    registration.set_protocol_version(kProtocolVersion);
    registration.set_allows_commands(true);
    for (int i = 0; i < slots; ++i) registration.add_slots(kind + ":" + std::to_string(i));
    return registration;
  }
  // The same incarnation goes on to number its messages where it was.
  ConnectionId Connect(v1::Register registration) {
    const ConnectionId connection(++last_connection_);
    Agent& agent = agents_[registration.name()];
    if (agent.incarnation != Incarnation(registration.incarnation())) agent.sequence = 0;
    agent.incarnation = Incarnation(registration.incarnation());
    agent.connection = connection;
    registration.set_next_sequence(agent.sequence + 1);
    Apply(WorkerConnected{registration, connection});
    return connection;
  }
  ConnectionId Connect(const std::string& name, int slots) {
    return Connect(Registration(name, slots));
  }
  void Disconnect(const std::string& name) {
    const Agent& agent = agents_.at(name);
    Apply(
        WorkerDisconnected{WorkerName(name), agent.incarnation, agent.connection, "stream reset"});
  }
  // For so long that it is lost.
  void Lose(const std::string& name) {
    Disconnect(name);
    lost_.insert(name);
    BeatThrough(Options{}.worker_lease);
    lost_.erase(name);
  }

  // The message comes from this worker, over the connection that it opened last.
  void Say(const std::string& worker, v1::WorkerToCoordinator message) {
    Agent& agent = agents_.at(worker);
    if (!message.has_heartbeat()) message.set_sequence(++agent.sequence);
    Apply(WorkerMessage{WorkerName(worker), agent.connection, message});
  }
  void Beat(const std::string& worker) {
    v1::WorkerToCoordinator message;
    message.mutable_heartbeat();
    Say(worker, message);
  }
  void Position(const std::string& id, uint32_t rank, uint64_t step, v1::Phase phase) {
    v1::WorkerToCoordinator message;
    v1::RankPosition& position = *message.mutable_heartbeat()->add_ranks();
    Address(id, rank, position);
    position.set_step(step);
    position.set_phase(phase);
    Say(WorkerOf(id, rank), message);
  }

  v1::WorkerToCoordinator PreparedMessage(const std::string& id, uint32_t rank,
                                          uint32_t port) const {
    v1::WorkerToCoordinator message;
    v1::RankPrepared& prepared = *message.mutable_rank_prepared();
    Address(id, rank, prepared);
    prepared.set_pid(1000 + rank);
    prepared.mutable_prepared()->set_total_steps(100);
    if (rank != 0) return message;
    prepared.mutable_prepared()->set_master_port(port);
    prepared.mutable_prepared()->set_nccl_unique_id(nccl_id);
    return message;
  }
  void Prepare(const std::string& id, uint32_t rank, uint32_t port = 4444) {
    Say(WorkerOf(id, rank), PreparedMessage(id, rank, port));
  }
  void PrepareAll(const std::string& id) {
    for (uint32_t rank = 0; rank < job(id).world_size(); ++rank) Prepare(id, rank);
  }

  // Rank 0, or another that has no business with it, did `steps` more steps.
  void Progress(const std::string& id, uint64_t steps, uint32_t rank = 0) {
    v1::WorkerToCoordinator message;
    v1::RankReport& report = *message.mutable_rank_report();
    Address(id, rank, report);
    for (uint64_t i = 1; i <= steps; ++i) {
      v1::StepSample& sample = *report.mutable_progress()->add_samples();
      sample.set_step(job(id).step() + i);
      sample.set_loss_sum(64);
      sample.set_count(32);
    }
    Say(WorkerOf(id, rank), message);
  }
  // Rank 0 wrote a checkpoint.
  void Save(const std::string& id, uint64_t step) {
    v1::WorkerToCoordinator message;
    v1::RankReport& report = *message.mutable_rank_report();
    Address(id, 0, report);
    report.mutable_progress()->mutable_checkpoint()->set_step(step);
    Say(WorkerOf(id, 0), message);
  }
  void Finish(const std::string& id, uint32_t rank, const std::string& digest = "digest") {
    v1::WorkerToCoordinator message;
    v1::RankReport& report = *message.mutable_rank_report();
    Address(id, rank, report);
    report.mutable_finished()->set_parameter_digest(digest);
    Say(WorkerOf(id, rank), message);
  }
  void Report(const std::string& id, uint32_t rank, v1::CauseCode code,
              const std::string& text = "something") {
    v1::WorkerToCoordinator message;
    v1::RankReport& report = *message.mutable_rank_report();
    Address(id, rank, report);
    report.mutable_failure()->set_code(code);
    report.mutable_failure()->set_message(text);
    Say(WorkerOf(id, rank), message);
  }

  v1::RankExited Exited(const std::string& id, uint32_t rank) const {
    v1::RankExited exit;
    Address(id, rank, exit);
    return exit;
  }
  void Exit(const v1::RankExited& exit) {
    v1::WorkerToCoordinator message;
    *message.mutable_rank_exited() = exit;
    Say(WorkerOf(exit.job_id(), exit.rank()), message);
  }
  void ExitCleanly(const std::string& id, uint32_t rank) { Exit(Exited(id, rank)); }
  void ExitAborted(const std::string& id, uint32_t rank) {
    v1::RankExited exit = Exited(id, rank);
    exit.set_signal(15);
    exit.set_aborted(true);
    Exit(exit);
  }
  void Kill(const std::string& id, uint32_t rank, uint64_t step = 0) {
    v1::RankExited exit = Exited(id, rank);
    exit.set_signal(9);
    exit.set_step(step);
    exit.set_phase(v1::PHASE_BACKWARD);
    exit.add_last_lines("last words");
    Exit(exit);
  }

  void Apply(const Event& event) {
    effects = core().Apply(event, clock.Now());
    Note();
  }
  // A new coordinator from the journal; nobody is connected to it.
  void Restart() {
    std::vector<v1::JobRecord> records;
    for (const auto& [id, record] : journal) records.push_back(record);
    coordinator_.emplace(Options{});
    effects = core().Restore(std::move(records), {}, clock.Now());
    Note();
  }

  const v1::Job& job(const std::string& id) const { return *core().FindJob(JobId(id)); }
  v1::JobState state(const std::string& id) const { return job(id).state(); }
  std::string WorkerOf(const std::string& id, uint32_t rank) const {
    return job(id).ranks(static_cast<int>(rank)).worker();
  }

  template <typename Kind>
  std::vector<Kind> All() const {
    std::vector<Kind> found;
    for (const Effect& effect : effects) {
      if (const Kind* kind = std::get_if<Kind>(&effect)) found.push_back(*kind);
    }
    return found;
  }
  // Messages of one kind in the last effects, with their receivers.
  std::vector<std::pair<std::string, v1::CoordinatorToWorker>> Sent(
      v1::CoordinatorToWorker::KindCase kind) const {
    std::vector<std::pair<std::string, v1::CoordinatorToWorker>> sent;
    for (const SendToWorker& send : All<SendToWorker>()) {
      if (send.message.kind_case() == kind) sent.emplace_back(send.worker.value(), send.message);
    }
    return sent;
  }
  std::vector<std::string> Receivers(v1::CoordinatorToWorker::KindCase kind) const {
    std::vector<std::string> receivers;
    for (const auto& [worker, message] : Sent(kind)) receivers.push_back(worker);
    return receivers;
  }

  FakeClock clock;
  Effects effects;
  // 0: none.
  uint64_t acknowledged = 0;
  std::map<std::string, v1::JobRecord> journal;
  // Of the next Submit.
  v1::JobSpec spec;
  // What rank 0 announces.
  std::string nccl_id;

 private:
  struct Agent {
    Incarnation incarnation;
    ConnectionId connection;
    uint64_t sequence = 0;
  };

  // Acknowledgements follow every message: they are kept apart from what it has led to.
  void Note() {
    acknowledged = 0;
    for (auto effect = effects.begin(); effect != effects.end();) {
      const auto* one = std::get_if<AcknowledgeWorker>(&*effect);
      if (one != nullptr) acknowledged = one->sequence;
      effect = one != nullptr ? effects.erase(effect) : effect + 1;
    }
    for (const PersistJob& persist : All<PersistJob>()) {
      journal[persist.record.job().id()] = persist.record;
    }
    for (const ForgetJob& forget : All<ForgetJob>()) journal.erase(forget.job.value());
  }

  template <typename Message>
  void Address(const std::string& id, uint32_t rank, Message& message) const {
    message.set_job_id(id);
    message.set_attempt(job(id).attempt());
    message.set_rank(rank);
  }

  uint64_t last_connection_ = 0;
  std::map<std::string, Agent> agents_;
  std::set<std::string> lost_;
  std::optional<Coordinator> coordinator_;
};

}  // namespace tandem::core
