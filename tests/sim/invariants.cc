// What a simulation expects to hold after every event.
#include <algorithm>
#include <utility>

#include "common/job_state.h"
#include "common/proto_time.h"
#include "common/slot_request.h"
#include "tests/sim/simulation.h"

namespace tandem::sim {
namespace {

struct Bytes {
  std::string operator()(const core::PersistJob& e) const { return e.record.SerializeAsString(); }
  std::string operator()(const core::ForgetJob& e) const { return e.job.value(); }
  std::string operator()(const core::PersistDrain& e) const { return e.worker.value(); }
  std::string operator()(const core::RecordHistory& e) const {
    return e.job.value() + e.progress.SerializeAsString();
  }
  std::string operator()(const core::AppendLogs& e) const { return e.log.SerializeAsString(); }
  std::string operator()(const core::AcknowledgeWorker& e) const {
    return std::to_string(e.connection.value()) + ":" + std::to_string(e.sequence);
  }
  std::string operator()(const core::SendToWorker& e) const {
    return e.worker.value() + std::to_string(e.connection.value()) + e.message.SerializeAsString();
  }
  std::string operator()(const core::CloseWorker& e) const {
    return e.worker.value() + std::to_string(e.connection.value()) + e.status.ToString();
  }
  std::string operator()(const core::JobChanged& e) const { return e.job.value(); }
  std::string operator()(const core::Log& e) const { return e.text; }
  std::string operator()(const core::AttemptStarted& e) const { return e.job.value(); }
  std::string operator()(const core::RendezvousMeasured& e) const {
    return absl::FormatDuration(e.duration);
  }
  std::string operator()(const core::AttemptFailed& e) const { return v1::CauseCode_Name(e.code); }
  std::string operator()(const core::PauseMeasured& e) const {
    return absl::FormatDuration(e.duration);
  }
  std::string operator()(const core::StepsDone& e) const {
    return std::to_string(e.steps) + "/" + std::to_string(e.samples);
  }
};

using Edge = std::pair<v1::JobState, v1::JobState>;

bool IsEdge(Edge edge) {
  static const std::set<Edge> edges = {{v1::JOB_STATE_UNSPECIFIED, v1::JOB_STATE_QUEUED},
                                       {v1::JOB_STATE_QUEUED, v1::JOB_STATE_PREPARING},
                                       {v1::JOB_STATE_QUEUED, v1::JOB_STATE_CANCELLED},
                                       {v1::JOB_STATE_PREPARING, v1::JOB_STATE_QUEUED},
                                       {v1::JOB_STATE_PREPARING, v1::JOB_STATE_RUNNING},
                                       {v1::JOB_STATE_PREPARING, v1::JOB_STATE_FAILED},
                                       {v1::JOB_STATE_PREPARING, v1::JOB_STATE_CANCELLING},
                                       {v1::JOB_STATE_RUNNING, v1::JOB_STATE_QUEUED},
                                       {v1::JOB_STATE_RUNNING, v1::JOB_STATE_SUCCEEDED},
                                       {v1::JOB_STATE_RUNNING, v1::JOB_STATE_FAILED},
                                       {v1::JOB_STATE_RUNNING, v1::JOB_STATE_CANCELLING},
                                       {v1::JOB_STATE_CANCELLING, v1::JOB_STATE_CANCELLED}};
  return edges.contains(edge);
}

// A worker was given up with what it had still to report.
bool WasLost(const v1::Job& job) {
  return std::any_of(job.attempts().begin(), job.attempts().end(), [](const auto& attempt) {
    return attempt.cause().code() == v1::CAUSE_CODE_WORKER_LOST;
  });
}

// Of one that has none yet it is that of devices, where there are some.
std::string KindWanted(const v1::Job& job, bool has_devices) {
  if (!job.ranks().empty()) return std::string(KindOfSlot(job.ranks(0).slot()));
  if (job.spec().has_device()) return job.spec().device();
  return has_devices ? "cuda" : "cpu";
}

std::string NameOf(const core::RankId& id) {
  return id.job.value() + "/" + std::to_string(id.attempt.value()) + "/" +
         std::to_string(id.rank.value());
}

}  // namespace

void Simulation::Expect(bool holds, const std::string& what) {
  if (!holds) violations_.push_back(absl::FormatDuration(Now()) + ": " + what);
}

core::Effects Simulation::Apply(const core::Event& event) {
  core::Effects effects = coordinator_->Apply(event, clock_.Now());
  for (const core::Effect& effect : effects) trace_ += std::visit(Bytes(), effect) + '\n';
  CheckChanges(effects);
  return effects;
}

std::map<std::string, std::string> Simulation::Views() const {
  std::map<std::string, std::string> views;
  for (const v1::Job* job : coordinator_->Jobs()) views[job->id()] = job->SerializeAsString();
  return views;
}

// Watchers are told of every change, once.
void Simulation::CheckChanges(const core::Effects& effects) {
  const auto before = std::exchange(views_, Views());
  std::set<std::string> told;
  for (const core::Effect& effect : effects) {
    const auto* changed = std::get_if<core::JobChanged>(&effect);
    if (changed == nullptr) continue;
    Expect(told.insert(changed->job.value()).second, changed->job.value() + " was told twice");
  }
  for (const auto& [id, view] : views_) {
    const auto it = before.find(id);
    const bool same = it != before.end() && it->second == view;
    Expect(same || told.contains(id), id + " changed silently");
  }
}

// An attempt is on one kind of device: that of the first one, and the one that was asked for.
void Simulation::CheckKind(const v1::Job& before, const v1::Job& after) {
  for (const v1::RankStatus& rank : after.ranks()) {
    const std::string kind(KindOfSlot(rank.slot()));
    const std::string& first =
        before.ranks().empty() ? after.ranks(0).slot() : before.ranks(0).slot();
    Expect(kind == KindOfSlot(first), after.id() + " came to another kind of device");
    Expect(!after.spec().has_device() || kind == after.spec().device(),
           after.id() + " is not on the kind that it names");
  }
}

// A job goes along the edges of its diagram, so it ends once; attempts rise by one, when one starts.
void Simulation::CheckRecord(const v1::Job& before, const v1::Job& after) {
  CheckKind(before, after);
  const bool moved = before.state() != after.state();
  Expect(!moved || IsEdge({before.state(), after.state()}),
         after.id() + " went from " + v1::JobState_Name(before.state()) + " to " +
             v1::JobState_Name(after.state()));
  Expect(moved || !HasEnded(after.state()), after.id() + " was written again after its end");
  const bool starts = moved && after.state() == v1::JOB_STATE_PREPARING;
  Expect(after.attempt() == before.attempt() + (starts ? 1 : 0),
         after.id() + " has another attempt number");
  const bool failed = after.state() == v1::JOB_STATE_FAILED;
  Expect(!failed || after.cause().attempt() == after.attempt(),
         after.id() + " failed without a cause");
  Expect(after.attempts_size() == static_cast<int>(after.attempt()),
         after.id() + " has an attempt that is not in its timeline");
}

// Nobody is told what is not on disk, and every rank of an attempt is told the same.
void Simulation::CheckOrder(const core::SendToWorker& send) {
  if (send.message.has_prepare_ranks()) {
    const v1::PrepareRanks& prepare = send.message.prepare_ranks();
    const v1::Job& job = journal_[prepare.job_id()].job();
    Expect(job.state() == v1::JOB_STATE_PREPARING && job.attempt() == prepare.attempt(),
           job.id() + " was told to prepare before that was on disk");
  }
  if (send.message.has_start_ranks()) {
    const v1::Start& start = send.message.start_ranks().start();
    const std::string bytes = start.SerializeAsString();
    const auto [first, added] = starts_.emplace(std::pair(start.job_id(), start.attempt()), bytes);
    Expect(first->second == bytes, start.job_id() + ": two ranks were told different things");
    const bool on_cpu = KindOfSlot(journal_[start.job_id()].job().ranks(0).slot()) == kCpuKind;
    Expect(
        start.nccl_unique_id() == (on_cpu ? "" : Agent::NcclIdOf(start.job_id(), start.attempt())),
        start.job_id() + " was told the id of somebody else");
  }
}

// In the coordinator's books no rank is in two places, and each process that a connected agent has told of
// holds the slot it runs on.
void Simulation::CheckSlots() {
  std::set<std::string> ranks;
  std::map<std::pair<std::string, std::string>, std::string> holders;
  std::set<std::string> incarnations;
  for (const v1::Worker& worker : coordinator_->Workers()) {
    // Of one that has not come back yet it is not known what it runs.
    if (worker.state() == v1::WORKER_STATE_CONNECTED) incarnations.insert(worker.incarnation());
    for (const v1::SlotStatus& slot : worker.slots()) {
      if (slot.job_id().empty()) continue;
      const std::string name =
          NameOf({JobId(slot.job_id()), AttemptNumber(slot.attempt()), Rank(slot.rank())});
      Expect(ranks.insert(name).second, name + " holds two slots");
      holders[{worker.incarnation(), slot.name()}] = name;
    }
  }
  for (const Host& host : hosts_) {
    if (!incarnations.contains(host.agent.incarnation())) continue;
    for (const Agent::Process& process : host.agent.processes()) {
      Expect(holders[{host.agent.incarnation(), process.slot}] == NameOf(process.id),
             NameOf(process.id) + " runs on a slot that is not its own");
    }
  }
}

// A slot runs one rank, a rank runs once, and of two attempts of a job at most one trains that the coordinator
// has not given up.
void Simulation::CheckProcesses() {
  std::set<std::string> ranks;
  for (const Host& host : hosts_) {
    std::set<std::string> slots;
    for (const Agent::Process& process : host.agent.processes()) {
      Expect(slots.insert(process.slot).second,
             "two processes on one slot of " + host.agent.name());
      Expect(ranks.insert(NameOf(process.id)).second, NameOf(process.id) + " runs twice");
      const v1::Job* job = coordinator_->FindJob(process.id.job);
      Expect(job == nullptr || process.id.attempt.value() <= job->attempt(),
             NameOf(process.id) + " is of an attempt that nobody has started");
    }
  }
}

// The first of the queue does not wait for slots that are free; who waits knows why.
void Simulation::CheckQueue() {
  std::map<std::string, uint32_t> free;
  // Also of a worker that is away: a job without a kind waits for it.
  bool has_devices = false;
  for (const v1::Worker& worker : coordinator_->Workers()) {
    const bool usable = worker.state() == v1::WORKER_STATE_CONNECTED && !worker.draining();
    for (const v1::SlotStatus& slot : worker.slots()) {
      has_devices |= KindOfSlot(slot.name()) == "cuda";
      if (usable) free[std::string(KindOfSlot(slot.name()))] += slot.job_id().empty();
    }
  }
  for (const v1::Job* job : coordinator_->Jobs()) {
    const bool waits = job->state() == v1::JOB_STATE_QUEUED;
    Expect(!waits || !job->waiting_reason().empty(), job->id() + " does not know why it waits");
  }
  if (Now() < disk_full_until_) return;
  for (const auto& [kind, slots] : free) CheckFirstInLine(kind, slots, has_devices);
}

void Simulation::CheckFirstInLine(const std::string& kind, uint32_t free, bool has_devices) {
  const v1::Job* first = nullptr;
  for (const v1::Job* job : coordinator_->Jobs()) {
    if (job->state() != v1::JOB_STATE_QUEUED || KindWanted(*job, has_devices) != kind) continue;
    const bool may_start =
        !job->has_restart_at() || FromProto(job->restart_at()) <= clock_.Now().wall;
    // Jobs come newest first; of equal priority the last one seen is the first in line.
    if (may_start && (first == nullptr || job->spec().priority() >= first->spec().priority())) {
      first = job;
    }
  }
  if (first == nullptr) return;
  const bool resized = first->resized_max() > 0;
  const bool elastic = resized || first->spec().has_min_workers();
  Expect(elastic || first->spec().workers() > free, first->id() + " waits for slots that are free");
}

void Simulation::CheckNothingLost() {
  std::set<std::string> known;
  for (const v1::Job* job : coordinator_->Jobs()) known.insert(job->id());
  Expect(known == submitted_, "a job was lost, or came from nowhere");
  for (const v1::Job* job : coordinator_->Jobs()) {
    Expect(job->receipt().digest() == ReceiptAt(job->step()), job->id() + " has a wrong receipt");
  }
}

// Once every job has ended and every exit was heard of.
void Simulation::CheckSlotsAreFree() {
  for (const v1::Worker& worker : coordinator_->Workers()) {
    for (const v1::SlotStatus& slot : worker.slots()) {
      Expect(slot.job_id().empty(), worker.name() + ": " + slot.name() + " is kept for " +
                                        slot.job_id() + ", which has ended");
    }
  }
}

// Of a job that succeeded every step is in the history, once.
void Simulation::CheckHistory() {
  if (!options_.agents_live) return;
  for (const v1::Job* job : coordinator_->Jobs()) {
    if (job->state() != v1::JOB_STATE_SUCCEEDED || WasLost(*job)) continue;
    const std::set<uint64_t>& steps = history_[job->id()];
    std::string seen;
    for (const uint64_t step : steps) seen += " " + std::to_string(step);
    Expect(steps.size() == job->total_steps() && *steps.begin() == 1 &&
               *steps.rbegin() == job->total_steps(),
           job->id() + ": of its steps only" + seen + " are in its history: " + job->DebugString());
  }
}

}  // namespace tandem::sim
