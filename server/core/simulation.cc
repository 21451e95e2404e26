#include "server/core/simulation.h"

#include <utility>

namespace tandem::core {

using Stage = SimulatedAgent::Stage;

Simulation::Simulation(uint64_t seed) : random_(seed) {
  coordinator_.emplace(Options{.prepare_timeout = absl::Seconds(20)});
  for (int i = 0; i < 4; ++i) {
    agents_.emplace_back(std::string(1, static_cast<char>('a' + i)), 1 + i % 3);
  }
}

void Simulation::Step() {
  Agent& agent = AnyAgent();
  const uint64_t dice = Below(200);
  if (dice < 8) return Submit();
  if (dice < 9) return SubmitToFullDisk();
  if (dice < 12) return Cancel();
  if (dice < 24) return ConnectAgent(agent);
  if (dice < 25) return ConnectImpostor();
  if (dice < 28) return LoseConnection(agent);
  if (dice < 30) return CrashAgent(agent);
  if (dice < 31) return RestartCoordinator();
  if (dice < 50) return LetTimePass(absl::Milliseconds(Below(1500)));
  if (dice < 52) return LetTimePass(absl::Seconds(Below(15)));
  if (dice < 60) return RepeatSomething();
  if (agent.HasMail() && dice < 120) return agent.ReadOne();
  if (agent.processes().empty()) return;
  AdvanceProcess(agent, Below(agent.processes().size()), /*faults=*/true);
}

void Simulation::Settle() {
  for (int round = 0; round < 2000 && !AllEnded(); ++round) {
    for (Agent& agent : agents_) {
      if (!agent.connection()) ConnectAgent(agent);
      while (agent.HasMail()) agent.ReadOne();
      for (size_t i = agent.processes().size(); i-- > 0;)
        AdvanceProcess(agent, i, /*faults=*/false);
    }
    LetTimePass(absl::Milliseconds(200));
  }
}

bool Simulation::AllEnded() const {
  for (const v1::Job* job : coordinator_->Jobs()) {
    if (job->state() < v1::JOB_STATE_SUCCEEDED) return false;
  }
  return true;
}

std::map<v1::JobState, int> Simulation::Outcomes() const {
  std::map<v1::JobState, int> outcomes;
  for (const v1::Job* job : coordinator_->Jobs()) ++outcomes[job->state()];
  return outcomes;
}

void Simulation::Submit() {
  const JobId id("job-" + std::to_string(++last_job_));
  v1::JobSpec spec;
  spec.set_workers(static_cast<uint32_t>(1 + Below(5)));
  spec.set_logical_ranks(8);
  submitted_.insert(id.value());
  Happen(JobSubmitted{id, spec, "request-" + id.value()});
}

void Simulation::SubmitToFullDisk() {
  const JobId id("job-" + std::to_string(++last_job_));
  v1::JobSpec spec;
  spec.set_workers(1);
  spec.set_logical_ranks(1);
  Apply(JobSubmitted{id, spec, ""});  // The first effect fails, so none is carried out.
  submitted_.erase(id.value());
  Happen(JobWithdrawn{id});
}

void Simulation::Cancel() {
  if (last_job_ > 0) Happen(CancelRequested{JobId("job-" + std::to_string(1 + Below(last_job_)))});
}

void Simulation::ConnectAgent(Agent& agent) {
  const ConnectionId connection(++last_connection_);
  if (agent.connection()) {
    past_.push_back(WorkerDisconnected{WorkerName(agent.name()), agent.incarnation(),
                                       *agent.connection(), "replaced"});
  }
  Happen(WorkerConnected{agent.Connect(connection), connection});
}

void Simulation::ConnectImpostor() {
  const ConnectionId connection(++last_connection_);
  const Agent& agent = AnyAgent();
  if (!agent.connection()) return;
  Happen(WorkerConnected{SmallCluster::Registration(agent.name(), 1, "impostor"), connection});
}

void Simulation::LoseConnection(Agent& agent) {
  if (!agent.connection()) return;
  const WorkerDisconnected lost{WorkerName(agent.name()), agent.incarnation(), *agent.connection(),
                                "stream reset"};
  agent.Disconnect();
  if (Below(2) == 0) return past_.push_back(lost);  // Comes late, or never.
  Happen(lost);
}

void Simulation::CrashAgent(Agent& agent) {
  LoseConnection(agent);
  agent.Restart();
}

void Simulation::RestartCoordinator() {
  std::vector<v1::JobRecord> records;
  for (const auto& [id, record] : journal_) records.push_back(record);
  for (Agent& agent : agents_) agent.Disconnect();
  coordinator_.emplace(Options{.prepare_timeout = absl::Seconds(20)});
  Carry(coordinator_->Restore(std::move(records), clock_.Now()));
  views_ = Views();
}

void Simulation::LetTimePass(absl::Duration by) {
  clock_.Advance(by);
  for (Agent& agent : agents_) {
    if (agent.connection() && Below(10) > 0) Tell(agent, agent.Heartbeat());
  }
  Happen(TimePassed{});
}

void Simulation::RepeatSomething() {
  if (!past_.empty()) Happen(Event(past_[Below(past_.size())]));
}

void Simulation::AdvanceProcess(Agent& agent, size_t index, bool faults) {
  if (!agent.connection()) return;
  Agent::Process& process = agent.processes()[index];
  const bool over = process.aborted || process.stage >= Stage::kFinished;
  if (over) return EndProcess(agent, index, faults);
  if (faults && Below(12) == 0) return Fault(agent, index);
  v1::WorkerToCoordinator message;
  if (process.stage == Stage::kLoading) {
    process.stage = Stage::kReady;
    process.step = journal_[process.id.job.value()].job().checkpoint().step();
    v1::RankPrepared& prepared = *message.mutable_rank_prepared();
    Agent::Address(process, prepared);
    const bool leads = process.id.rank == Rank(0);
    prepared.mutable_prepared()->set_master_port(leads ? 4000 : 0);
  } else if (process.stage == Stage::kTraining) {
    v1::RankReport& report = *message.mutable_rank_report();
    Agent::Address(process, report);
    TakeStep(process, report.mutable_progress());
    if (process.step > 2) {
      process.stage = Stage::kFinished;
      const bool deviates = faults && Below(20) == 0;
      report.mutable_finished()->set_parameter_digest(deviates ? "other" : "digest");
    }
  } else {
    return;  // Waits for the start.
  }
  Tell(agent, message);
}

// Every other step is saved.
void Simulation::TakeStep(Agent::Process& process, v1::RankProgress* progress) {
  v1::StepSample& sample = *progress->add_samples();
  sample.set_step(++process.step);
  sample.set_receipt(ReceiptAt(process.step));
  if (Below(2) == 0) progress->mutable_checkpoint()->set_step(process.step);
}

void Simulation::EndProcess(Agent& agent, size_t index, bool faults) {
  const Agent::Process process = agent.processes()[index];
  agent.processes().erase(agent.processes().begin() + static_cast<ptrdiff_t>(index));
  v1::WorkerToCoordinator message;
  v1::RankExited& exit = *message.mutable_rank_exited();
  Agent::Address(process, exit);
  exit.set_step(process.step);
  exit.set_aborted(process.aborted);
  exit.set_exit_code(process.stage == Stage::kFailed || (faults && Below(20) == 0) ? 1 : 0);
  if (process.aborted) exit.set_signal(15);
  Tell(agent, message);
}

void Simulation::Fault(Agent& agent, size_t index) {
  Agent::Process& process = agent.processes()[index];
  process.stage = Stage::kFailed;
  if (Below(2) == 0) return EndProcess(agent, index, /*faults=*/true);  // Killed.
  v1::WorkerToCoordinator message;
  v1::RankReport& report = *message.mutable_rank_report();
  Agent::Address(process, report);
  report.mutable_failure()->set_code(Below(2) == 0 ? v1::CAUSE_CODE_PEER_LOST
                                                   : v1::CAUSE_CODE_RANK_ERROR);
  Tell(agent, message);
}

void Simulation::Tell(Agent& agent, const v1::WorkerToCoordinator& message) {
  const WorkerMessage event{WorkerName(agent.name()), agent.incarnation(), message};
  past_.push_back(event);
  Happen(event);
}

void Simulation::Carry(const Effects& effects) {
  for (const Effect& effect : effects) {
    std::visit([this](const auto& todo) { Do(todo); }, effect);
  }
  CheckSlots();
  CheckQueue();
  CheckNothingLost();
  CheckEvidence();
}

void Simulation::Do(const PersistJob& persist) {
  v1::JobRecord& record = journal_[persist.record.job().id()];
  CheckRecord(record.job(), persist.record.job());
  record = persist.record;
}

void Simulation::Do(const SendToWorker& send) {
  if (send.message.has_prepare_ranks()) {
    const v1::Job& job = journal_[send.message.prepare_ranks().job_id()].job();
    EXPECT_EQ(job.state(), v1::JOB_STATE_PREPARING) << "told before it was on disk";
    EXPECT_EQ(job.attempt(), send.message.prepare_ranks().attempt());
  }
  for (Agent& agent : agents_) {
    if (agent.connection() == send.connection) agent.Send(send.message);
  }
}

void Simulation::Do(const CloseWorker& close) {
  for (Agent& agent : agents_) {
    if (agent.connection() == close.connection) agent.Disconnect();
  }
}

}  // namespace tandem::core
