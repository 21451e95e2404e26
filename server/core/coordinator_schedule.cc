// The part of the Coordinator that asks the scheduler and does what it says.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator.h"

namespace tandem::core {
namespace {

v1::CauseCode CodeOf(Schedule::Pause::Why why) {
  return why == Schedule::Pause::Why::kGrow ? v1::CAUSE_CODE_RESIZED : v1::CAUSE_CODE_PREEMPTED;
}

}  // namespace

bool Coordinator::AllConnected(const Run& run) const {
  const std::set<WorkerName> workers = run.attempt.Workers();
  return std::all_of(workers.begin(), workers.end(), [this](const WorkerName& name) {
    const Worker* worker = cluster_.Find(name);
    return worker != nullptr && worker->connection;
  });
}

Holding Coordinator::HoldingOf(const Run& run) const {
  const Demand demand = run.job.demand();
  const bool ends = run.attempt.IsWindingUp() || run.attempt.state() == Attempt::State::kPausing ||
                    run.attempt.state() == Attempt::State::kEnding;
  const bool trains = run.attempt.state() == Attempt::State::kRunning && !ends;
  Holding holding{.job = demand.job,
                  .precedence = demand.precedence,
                  .min = demand.min,
                  .max = demand.max,
                  .slots = {},
                  .started = run.attempt.placed(),
                  .can_pause = trains && run.job.SavesCheckpoints() && AllConnected(run),
                  .ending = ends,
                  .is_command = demand.is_command,
                  .device = demand.device};
  for (const Rank rank : run.attempt.Present()) {
    ++holding.slots[WorkerName(run.job.status(rank).worker())];
  }
  return holding;
}

void Coordinator::PlaceJobs() {
  SchedulerState state{
      .workers = cluster_.Slots(), .queue = {}, .running = {}, .away = cluster_.SlotsAway()};
  for (const uint64_t sequence : queue_) state.queue.push_back(jobs_.at(sequence).demand());
  for (const auto& [id, run] : runs_) state.running.push_back(HoldingOf(run));
  const Schedule schedule = ScheduleJobs(std::move(state), options_.scheduler, now_.steady);
  for (const Schedule::Start& start : schedule.starts) {
    StartAttempt(jobs_.at(sequences_.at(start.job)), start.ranks);
  }
  for (const Schedule::Pause& pause : schedule.pauses) {
    PauseAttempt(runs_.at(pause.job), CodeOf(pause.why), pause.reason);
  }
  for (const Schedule::Wait& wait : schedule.waits) {
    Job& job = jobs_.at(sequences_.at(wait.job));
    if (!job.SetWaitingReason(wait.reason)) continue;
    Changed(job);
    Say(absl::LogSeverity::kInfo, absl::StrCat("job ", wait.job.value(), " ", wait.reason));
  }
}

}  // namespace tandem::core
