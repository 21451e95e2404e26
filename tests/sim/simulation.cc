// What happens, by chance.
#include "tests/sim/simulation.h"

#include <utility>

namespace tandem::sim {
namespace {

constexpr uint64_t kSteps = 6;
constexpr absl::Duration kTick = absl::Milliseconds(100);
// Between two partitions, so that together they are no long one.
constexpr absl::Duration kPeace = absl::Seconds(5);

core::Options CoordinatorOptions(uint64_t seed) {
  core::Options options;
  // Few, in some runs, so that jobs are forgotten.
  if (seed % 3 == 0) options.kept_jobs = 3;
  options.prepare_timeout = absl::Seconds(20);
  options.pause_timeout = absl::Seconds(20);
  options.scheduler.settle = absl::Seconds(2);
  options.scheduler.starvation_limit = absl::Seconds(20);
  return options;
}

}  // namespace

Simulation::Simulation(const Options& options) : options_(options), random_(options.seed) {
  coordinator_.emplace(CoordinatorOptions(options.seed));
  for (int i = 0; i < options.workers; ++i) {
    hosts_.push_back({.agent = Agent("w" + std::to_string(i), SlotsOf(i), &checkpoints_),
                      .link = std::nullopt,
                      .cut_until = absl::ZeroDuration(),
                      .next_try = absl::ZeroDuration()});
    if (options.agents_forget_what_was_sent) hosts_.back().agent.ForgetWhatWasSent();
  }
}

// In a mixed cluster one after the other has CPU slots, devices, or both.
std::vector<std::string> Simulation::SlotsOf(int worker) const {
  const bool has_cpu = !IsMixed() || worker % 3 != 1, has_devices = IsMixed() && worker % 3 != 0;
  std::vector<std::string> slots;
  for (int i = 0; i < 1 + worker % 4; ++i) {
    if (has_cpu) slots.push_back("cpu:" + std::to_string(i));
    if (has_devices) slots.push_back("cuda:" + std::to_string(i));
  }
  return slots;
}

void Simulation::Step() {
  const uint64_t dice = Below(100);
  if (dice < 4 && last_job_ < static_cast<uint64_t>(options_.jobs)) {
    Chance(10) ? SubmitToFullDisk() : Submit();
  } else if (dice < 6 && last_job_ > 0) {
    AskForSomething();
  } else if (dice < 9) {
    HarmHost(AnyHost());
  } else if (dice < 12) {
    HarmProcess(AnyHost());
  } else if (dice < 13 && Chance(4)) {
    RestartCoordinator();
  } else if (dice < 14 && Chance(4)) {
    disk_full_until_ = Now() + absl::Milliseconds(Below(3000));
  }
  const absl::Duration leap = absl::Seconds(Below(options_.agents_live ? 3 : 15));
  PassTime(Chance(50) ? leap : absl::Milliseconds(Below(200)), true);
}

void Simulation::Settle() {
  disk_full_until_ = absl::ZeroDuration();
  for (Host& host : hosts_) host.cut_until = absl::ZeroDuration();
  for (const char* worker : {"w0", "w1", "w2"}) {
    Happen(core::DrainRequested{WorkerName(worker), /*undo=*/true});
  }
  // Jobs that were resized beyond what there is would wait for ever, and rightly so.
  for (const v1::Job* job : coordinator_->Jobs()) {
    const JobId id(job->id());
    if (job->state() < v1::JOB_STATE_SUCCEEDED) Happen(core::ResizeRequested{id, 1, 1});
  }
  for (int round = 0; round < 4000 && !AllEnded(); ++round) PassTime(kTick, false);
  Expect(AllEnded(), "a job has not ended though nothing stands in its way");
  for (int round = 0; round < 400; ++round) PassTime(kTick, false);  // The last exits are heard.
  CheckHistory();
  CheckSlotsAreFree();
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

uint32_t Simulation::attempts() const {
  uint32_t attempts = 0;
  for (const v1::Job* job : coordinator_->Jobs()) attempts += job->attempt();
  return attempts;
}

// While the disk takes nothing, submissions are refused.
void Simulation::Submit() {
  if (Now() < disk_full_until_) return;
  const std::string id = "job-" + std::to_string(++last_job_);
  v1::JobSpec spec;
  const auto most = static_cast<uint32_t>(1 + Below(5));
  spec.set_workers(most);
  if (Chance(3)) spec.set_min_workers(static_cast<uint32_t>(1 + Below(most)));
  spec.set_logical_ranks(8);
  if (Chance(4)) spec.set_priority(static_cast<int32_t>(Below(3)));
  // Without, it would begin anew, and may not be paused.
  if (!Chance(4)) spec.mutable_checkpoint()->set_dir("/checkpoints");
  spec.mutable_restart()->set_max(static_cast<uint32_t>(Below(6)));
  spec.mutable_restart()->mutable_backoff()->set_nanos(500'000'000);
  if (IsMixed() && Chance(2)) spec.set_device(Chance(2) ? "cpu" : "cuda");
  submitted_.insert(id);
  Happen(core::JobSubmitted{JobId(id), spec, "request-" + id});
  Happen(core::ScheduleDue{});
}

// The first effect fails, so none is carried out.
void Simulation::SubmitToFullDisk() {
  if (Now() < disk_full_until_) return;
  const JobId id("job-" + std::to_string(++last_job_));
  v1::JobSpec spec;
  spec.set_workers(1);
  spec.set_logical_ranks(1);
  Apply(core::JobSubmitted{id, spec, ""});
  Happen(core::JobWithdrawn{id});
}

void Simulation::AskForSomething() {
  const JobId job(AnyJob());
  const WorkerName worker("w" + std::to_string(Below(3)));
  switch (Below(4)) {
    case 0:
      return Happen(core::CancelRequested{job});
    case 1:
      return Happen(core::DrainRequested{worker, Chance(2)});
    default: {
      const auto max = static_cast<uint32_t>(1 + Below(6));
      return Happen(core::ResizeRequested{job, static_cast<uint32_t>(1 + Below(max)), max});
    }
  }
}

// Everything that was not on disk is forgotten, with all connections.
void Simulation::RestartCoordinator() {
  if (Now() < disk_full_until_) return;
  held_.clear();
  for (Host& host : hosts_) host.link.reset();
  std::vector<v1::JobRecord> records;
  for (const auto& [id, record] : journal_) records.push_back(record);
  coordinator_.emplace(CoordinatorOptions(options_.seed));
  Carry(coordinator_->Restore(std::move(records), {draining_.begin(), draining_.end()},
                              clock_.Now()));
  views_ = Views();
}

void Simulation::HarmHost(Host& host) {
  switch (Below(4)) {
    case 0:
      if (options_.agents_live) return;
      Break(host, /*noticed=*/Chance(2));
      return host.agent.Restart();
    case 1:  // A partition, shorter or longer than the lease.
      if (options_.agents_live && Now() < host.cut_until + kPeace) return;
      host.cut_until = Now() + absl::Milliseconds(Below(options_.agents_live ? 3000 : 15000));
      return;
    default:
      return Break(host, /*noticed=*/Chance(2));
  }
}

void Simulation::HarmProcess(Host& host) {
  if (host.agent.processes().empty()) return;
  const size_t index = Below(host.agent.processes().size());
  if (host.agent.processes()[index].IsOver()) return;
  if (Chance(2)) return host.agent.Kill(index);
  host.agent.ReportFailure(index, Chance(2) ? v1::CAUSE_CODE_PEER_LOST : v1::CAUSE_CODE_RANK_ERROR);
}

// What was under way is lost. The coordinator hears of it, or only by the silence.
void Simulation::Break(Host& host, bool noticed) {
  if (!host.link) return;
  const core::WorkerDisconnected lost{WorkerName(host.agent.name()),
                                      Incarnation(host.agent.incarnation()), host.link->connection,
                                      "stream reset"};
  host.link.reset();
  host.next_try = Now() + absl::Milliseconds(Below(2000));
  if (noticed) Happen(lost);
}

void Simulation::Live(Host& host, bool faults) {
  if (!host.link && Now() >= host.next_try && Now() >= host.cut_until) Connect(host);
  for (size_t i = host.agent.processes().size(); i-- > 0;) {
    if (!faults || Chance(2)) host.agent.Advance(i, kSteps);
  }
  Transport(host, faults);
}

void Simulation::PassTime(absl::Duration by, bool faults) {
  clock_.Advance(by);
  if (Now() >= disk_full_until_ && !held_.empty()) {
    Happen(core::HeldUp{});
    for (std::deque<core::Event> events = std::exchange(held_, {}); !events.empty();
         events.pop_front()) {
      Happen(events.front());
    }
  }
  for (Host& host : hosts_) Live(host, faults);
  if (Now() < next_tick_) return;
  next_tick_ = Now() + kTick;
  Happen(core::TimePassed{});
  CheckQueue();
}

}  // namespace tandem::sim
