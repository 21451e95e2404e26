#include "tests/sim/agent.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "common/slot_request.h"
#include "common/version.h"

namespace tandem::sim {

std::string Agent::NcclIdOf(const std::string& job, uint32_t attempt) {
  constexpr size_t kBytes = 128;
  std::string id = job + "/" + std::to_string(attempt);
  id.resize(kBytes, '.');
  return id;
}

void Agent::Restart() {
  ++incarnation_;
  processes_.clear();
  prepared_.clear();
  aborted_.clear();
  outbox_.clear();
  unreported_.clear();
  sent_ = 0;
  last_sequence_ = 0;
}

v1::Register Agent::Registration() {
  sent_ = 0;
  v1::Register registration;
  registration.set_name(name_);
  registration.set_incarnation(incarnation());
  registration.set_host("host-of-" + name_);
  registration.set_advertise_address("10.0.0." + name_);
  registration.set_protocol_version(kProtocolVersion);
  registration.set_next_sequence(last_sequence_ + 1 - outbox_.size());
  for (const std::string& slot : slots_) registration.add_slots(slot);
  for (const auto& [id, slot] : unreported_) {
    v1::RunningRank& running = *registration.add_running();
    Address(Process{.id = id, .slot = slot}, running);
    const bool runs = std::any_of(processes_.begin(), processes_.end(),
                                  [&id = id](const Process& process) { return process.id == id; });
    if (runs) running.set_slot(slot);
  }
  return registration;
}

v1::WorkerToCoordinator Agent::Heartbeat() const {
  v1::WorkerToCoordinator message;
  message.mutable_heartbeat();
  for (const Process& process : processes_) {
    v1::RankPosition& position = *message.mutable_heartbeat()->add_ranks();
    Address(process, position);
    position.set_step(process.step);
    position.set_phase(process.stage == Stage::kTraining ? v1::PHASE_FORWARD : v1::PHASE_PREPARE);
  }
  return message;
}

std::optional<v1::WorkerToCoordinator> Agent::NextToSend() {
  if (sent_ >= outbox_.size()) return std::nullopt;
  const v1::WorkerToCoordinator message = outbox_[sent_];
  if (forgets_) {
    outbox_.pop_front();
    NoteReported(message);
  } else {
    ++sent_;
  }
  return message;
}

void Agent::Receive(const v1::CoordinatorToWorker& message) {
  if (message.has_prepare_ranks()) Prepare(message.prepare_ranks());
  if (message.has_start_ranks()) {
    const v1::Start& start = message.start_ranks().start();
    ForEachOf(start.job_id(), start.attempt(), [](Process& process) {
      if (process.stage == Stage::kReady) process.stage = Stage::kTraining;
    });
  }
  if (message.has_pause_ranks()) {
    ForEachOf(message.pause_ranks().job_id(), message.pause_ranks().attempt(),
              [](Process& process) { process.pause_wanted = true; });
  }
  if (message.has_abort()) {
    aborted_.emplace(message.abort().job_id(), message.abort().attempt());
    ForEachOf(message.abort().job_id(), message.abort().attempt(),
              [](Process& process) { process.aborted = true; });
  }
  while (message.has_acknowledge() && !outbox_.empty() &&
         outbox_.front().sequence() <= message.acknowledge().sequence()) {
    const v1::WorkerToCoordinator taken = outbox_.front();
    outbox_.pop_front();
    if (sent_ > 0) --sent_;
    NoteReported(taken);
  }
}

void Agent::NoteReported(const v1::WorkerToCoordinator& message) {
  if (!message.has_rank_exited()) return;
  const v1::RankExited& exit = message.rank_exited();
  unreported_.erase({JobId(exit.job_id()), AttemptNumber(exit.attempt()), Rank(exit.rank())});
}

void Agent::Prepare(const v1::PrepareRanks& prepare) {
  for (const v1::RankPlacement& rank : prepare.ranks()) {
    PrepareRank({JobId(prepare.job_id()), AttemptNumber(prepare.attempt()), Rank(rank.rank())},
                rank.slot());
  }
}

void Agent::PrepareRank(const core::RankId& id, const std::string& slot) {
  if (!prepared_.insert(id).second) return;
  v1::RankExited refused;
  Address(Process{.id = id, .slot = slot}, refused);
  const bool was_aborted = aborted_.contains({id.job.value(), id.attempt.value()});
  bool busy = false;
  for (const Process& other : processes_) busy = busy || other.slot == slot;
  if (!was_aborted && !busy) {
    processes_.push_back({.id = id, .slot = slot});
    unreported_[id] = slot;
    return;
  }
  refused.set_aborted(was_aborted);
  if (!was_aborted) refused.mutable_failure()->set_code(v1::CAUSE_CODE_RANK_ERROR);
  v1::WorkerToCoordinator message;
  *message.mutable_rank_exited() = refused;
  Say(message);
}

void Agent::ForEachOf(const std::string& job, uint32_t attempt,
                      const std::function<void(Process&)>& visit) {
  for (Process& process : processes_) {
    if (process.id.job.value() == job && process.id.attempt.value() == attempt) visit(process);
  }
}

bool Agent::Advance(size_t index, uint64_t total_steps) {
  Process& process = processes_[index];
  if (process.IsOver()) {
    Exit(index);
  } else if (process.stage == Stage::kLoading) {
    Load(process, total_steps);
  } else if (process.stage == Stage::kTraining) {
    Train(process, total_steps);
  } else {
    return false;
  }
  return true;
}

void Agent::Load(Process& process, uint64_t total_steps) {
  process.stage = Stage::kReady;
  process.step = checkpoints_.Begin(process.id.job.value(), process.id.attempt.value());
  v1::WorkerToCoordinator message;
  Address(process, *message.mutable_rank_prepared());
  v1::Prepared& prepared = *message.mutable_rank_prepared()->mutable_prepared();
  prepared.set_total_steps(total_steps);
  prepared.set_steps_done(process.step);
  prepared.set_receipt(ReceiptAt(process.step));
  if (process.id.rank == Rank(0)) {
    prepared.set_master_port(4000 + process.id.attempt.value());
    if (KindOfSlot(process.slot) != kCpuKind) {
      prepared.set_nccl_unique_id(NcclIdOf(process.id.job.value(), process.id.attempt.value()));
    }
  }
  Say(message);
}

void Agent::Train(Process& process, uint64_t total_steps) {
  const bool leads = process.id.rank == Rank(0);
  const std::string& job = process.id.job.value();
  const uint32_t attempt = process.id.attempt.value();
  v1::WorkerToCoordinator message;
  v1::RankReport& report = *message.mutable_rank_report();
  Address(process, report);
  const bool last = process.step >= total_steps;
  if (last) {
    process.stage = Stage::kFinished;
    report.mutable_finished()->set_parameter_digest("digest");
  } else if (process.pause_wanted) {
    process.stage = Stage::kPaused;
    report.mutable_paused()->set_step(process.step);
  } else {
    ++process.step;
  }
  // Every other step is saved, and the one of a pause.
  const bool saves = leads && !last && (process.stage == Stage::kPaused || process.step % 2 == 0);
  if (saves && !checkpoints_.Save(job, attempt, process.step)) {
    process.stage = Stage::kFailed;
    report.mutable_failure()->set_code(v1::CAUSE_CODE_FENCED);
  } else if (process.stage == Stage::kTraining) {
    if (!leads) return;
    v1::StepSample& sample = *report.mutable_progress()->add_samples();
    sample.set_step(process.step);
    sample.set_count(1);
    sample.set_receipt(ReceiptAt(process.step));
    if (saves) report.mutable_progress()->mutable_checkpoint()->set_step(process.step);
  }
  Say(message);
}

void Agent::Exit(size_t index) {
  const Process& process = processes_[index];
  v1::RankExited exit;
  exit.set_aborted(process.aborted);
  if (process.aborted) exit.set_signal(SIGTERM);
  if (process.stage == Stage::kFailed) exit.set_exit_code(1);
  End(index, exit);
}

void Agent::Kill(size_t index) {
  v1::RankExited exit;
  exit.set_signal(SIGKILL);
  End(index, exit);
}

void Agent::End(size_t index, v1::RankExited exit) {
  Address(processes_[index], exit);
  exit.set_step(processes_[index].step);
  processes_.erase(processes_.begin() + static_cast<ptrdiff_t>(index));
  v1::WorkerToCoordinator message;
  *message.mutable_rank_exited() = std::move(exit);
  Say(message);
}

void Agent::ReportFailure(size_t index, v1::CauseCode code) {
  Process& process = processes_[index];
  process.stage = Stage::kFailed;
  v1::WorkerToCoordinator message;
  Address(process, *message.mutable_rank_report());
  message.mutable_rank_report()->mutable_failure()->set_code(code);
  Say(message);
}

void Agent::Say(v1::WorkerToCoordinator message) {
  message.set_sequence(++last_sequence_);
  outbox_.push_back(std::move(message));
}

}  // namespace tandem::sim
