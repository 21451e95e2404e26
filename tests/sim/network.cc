// The network and the journal of a simulation.
#include <algorithm>
#include <utility>

#include "tests/sim/simulation.h"

namespace tandem::sim {
namespace {

constexpr absl::Duration kHeartbeat = absl::Milliseconds(250);

}  // namespace

void Simulation::Connect(Host& host) {
  Link& link = host.link.emplace();
  link.connection = core::ConnectionId(++last_connection_);
  v1::WorkerToCoordinator first;
  *first.mutable_register_() = host.agent.Registration();
  link.up.emplace_back(Now() + absl::Milliseconds(Below(50)), std::move(first));
}

// Messages of one connection arrive in order, late, or not at all.
void Simulation::Transport(Host& host, bool faults) {
  if (!host.link || Now() < host.cut_until) return;
  const auto delay = [&] { return absl::Milliseconds(Below(faults ? 120 : 5)); };
  if (host.link->registered) {
    while (auto message = host.agent.NextToSend()) {
      host.link->up.emplace_back(Now() + delay(), *std::move(message));
    }
    if (Now() >= host.link->next_heartbeat) {
      host.link->next_heartbeat = Now() + kHeartbeat;
      host.link->up.emplace_back(Now() + delay(), host.agent.Heartbeat());
    }
  }
  const core::ConnectionId connection = host.link->connection;
  const auto is_up = [&] { return host.link && host.link->connection == connection; };
  while (is_up() && !host.link->up.empty() && host.link->up.front().first <= Now()) {
    const v1::WorkerToCoordinator message = std::move(host.link->up.front().second);
    host.link->up.pop_front();
    Arrive(host, message);
    // Twice, as an agent that was not sure may send it.
    if (is_up() && faults && Chance(20) && !message.has_register_()) Arrive(host, message);
  }
  while (is_up() && !host.link->down.empty() && host.link->down.front().first <= Now()) {
    const v1::CoordinatorToWorker message = std::move(host.link->down.front().second);
    host.link->down.pop_front();
    if (message.has_registered()) host.link->registered = true;
    host.agent.Receive(message);
    if (faults && Chance(20)) host.agent.Receive(message);
  }
}

void Simulation::Arrive(Host& host, const v1::WorkerToCoordinator& message) {
  const core::ConnectionId connection = host.link->connection;
  if (message.has_register_()) {
    Happen(core::WorkerConnected{message.register_(), connection});
  } else {
    Happen(core::WorkerMessage{WorkerName(host.agent.name()), connection, message});
  }
}

void Simulation::Happen(const core::Event& event) {
  if (Now() < disk_full_until_) return held_.push_back(event);
  Carry(Apply(event));
}

void Simulation::Carry(const core::Effects& effects) {
  for (const core::Effect& effect : effects) {
    std::visit([this](const auto& todo) { Do(todo); }, effect);
  }
  CheckSlots();
  CheckProcesses();
  CheckNothingLost();
}

void Simulation::Do(const core::PersistJob& persist) {
  v1::JobRecord& record = journal_[persist.record.job().id()];
  CheckRecord(record.job(), persist.record.job());
  record = persist.record;
}

void Simulation::Do(const core::ForgetJob& forget) {
  journal_.erase(forget.job.value());
  submitted_.erase(forget.job.value());
}

void Simulation::Do(const core::PersistDrain& drain) {
  if (drain.draining) {
    draining_.insert(drain.worker);
  } else {
    draining_.erase(drain.worker);
  }
}

void Simulation::Do(const core::RecordHistory& record) {
  std::set<uint64_t>& steps = history_[record.job.value()];
  if (record.progress.samples().empty()) return;
  steps.erase(steps.lower_bound(record.progress.samples(0).step()), steps.end());
  for (const v1::StepSample& sample : record.progress.samples()) steps.insert(sample.step());
}

void Simulation::Do(const core::AcknowledgeWorker& acknowledge) {
  v1::CoordinatorToWorker message;
  message.mutable_acknowledge()->set_sequence(acknowledge.sequence);
  SendDown(acknowledge.connection, message);
}

void Simulation::Do(const core::SendToWorker& send) {
  CheckOrder(send);
  SendDown(send.connection, send.message);
}

void Simulation::SendDown(core::ConnectionId connection, const v1::CoordinatorToWorker& message) {
  for (Host& host : hosts_) {
    if (!host.link || host.link->connection != connection) continue;
    host.link->down.emplace_back(Now() + absl::Milliseconds(Below(100)), message);
  }
}

void Simulation::Do(const core::CloseWorker& close) {
  for (Host& host : hosts_) {
    if (!host.link || host.link->connection != close.connection) continue;
    host.link.reset();
    host.next_try = Now() + absl::Milliseconds(Below(1000));
  }
}

}  // namespace tandem::sim
