// The part of the Coordinator that takes in workers and lets them go.

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"
#include "server/core/cause.h"
#include "server/core/coordinator.h"

namespace tandem::core {
namespace {

v1::CoordinatorToWorker RegisteredMessage(const Options& options) {
  v1::CoordinatorToWorker message;
  *message.mutable_registered()->mutable_heartbeat_interval() = ToProto(options.heartbeat_interval);
  *message.mutable_registered()->mutable_lease() = ToProto(options.worker_lease);
  return message;
}

}  // namespace

void Coordinator::On(const WorkerConnected& event) {
  const WorkerName name(event.registration.name());
  if (absl::Status refused = CheckConnect(event.registration); !refused.ok()) {
    effects_.push_back(CloseWorker{name, event.connection, std::move(refused)});
    return;
  }
  const Worker* before = cluster_.Find(name);
  const bool is_back =
      before != nullptr && before->incarnation == Incarnation(event.registration.incarnation());
  if (is_back && before->connection) {
    effects_.push_back(CloseWorker{name, *before->connection,
                                   absl::AbortedError("this agent has opened a newer connection")});
  } else if (before != nullptr && !is_back) {
    LoseWorker(name, "its agent was started anew");
  }
  cluster_.Connect(event.registration, event.connection, now_);
  Send(name, RegisteredMessage(options_));
  AbortStale(event.registration);
  if (is_back) TakeUp(event.registration);
  Say(absl::LogSeverity::kInfo,
      absl::StrCat("worker ", name.value(), " connected from ", event.registration.host(), " with ",
                   event.registration.slots_size(), " slots"));
  schedule_due_ = true;
}

absl::Status Coordinator::CheckConnect(const v1::Register& registration) const {
  if (absl::Status status = CheckRegistration(registration); !status.ok()) return status;
  if (absl::Status status = cluster_.CheckDevices(registration); !status.ok()) return status;
  const Worker* worker = cluster_.Find(WorkerName(registration.name()));
  if (worker == nullptr || !worker->connection ||
      worker->incarnation == Incarnation(registration.incarnation())) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(absl::StrCat("worker '", registration.name(),
                                               "' is connected already, from ", worker->host,
                                               ": stop that agent, or choose another name"));
}

void Coordinator::AbortStale(const v1::Register& registration) {
  std::set<std::pair<JobId, AttemptNumber>> stale;
  for (const v1::RunningRank& rank : registration.running()) {
    const Run* run = FindRun(JobId(rank.job_id()), AttemptNumber(rank.attempt()));
    if (run == nullptr) stale.emplace(rank.job_id(), rank.attempt());
  }
  for (const auto& [job, attempt] : stale) {
    SendAbort(WorkerName(registration.name()), job, attempt, "the attempt was given up meanwhile");
  }
}

void Coordinator::TakeUp(const v1::Register& registration) {
  std::vector<JobId> here;
  for (const auto& [id, run] : runs_) {
    if (!run.attempt.PresentOn(WorkerName(registration.name())).empty()) here.push_back(id);
  }
  for (const JobId& id : here) TakeUp(runs_.at(id), registration);
}

void Coordinator::TakeUp(Run& run, const v1::Register& registration) {
  const WorkerName name(registration.name());
  std::set<Rank> running;
  for (const v1::RunningRank& rank : registration.running()) {
    if (rank.job_id() == run.job.id().value() && rank.attempt() == run.attempt.number().value()) {
      running.emplace(rank.rank());
    }
  }
  for (const Rank rank : run.attempt.PresentOn(name)) {
    const v1::RankStatus& status = run.job.status(rank);
    if (HangWatch* watch = run.attempt.hang_watch()) watch->Excuse(rank, now_);
    if (running.contains(rank)) continue;
    if (run.attempt.state() == Attempt::State::kPreparing) {  // It has not heard of it yet.
      cluster_.Occupy({name, status.slot()}, {run.job.id(), run.attempt.number(), rank});
      continue;
    }
    LoseRank(run, rank, "its agent does not know this rank any more");
  }
  if (run.attempt.AllGone()) return Conclude(run);
  Instruct(run, name);
}

// Its ranks go on, and so does its lease: it may be back before anybody has to be told.
void Coordinator::On(const WorkerDisconnected& event) {
  const Worker* worker = cluster_.Find(event.worker);
  if (worker == nullptr || worker->connection != event.connection) return;
  cluster_.Disconnect(event.worker);
  schedule_due_ = true;
  if (worker->IsIdle()) return LoseWorker(event.worker, event.reason);
  Say(absl::LogSeverity::kWarning,
      absl::StrCat("worker ", event.worker.value(), " is not connected any more (", event.reason,
                   "); its ranks are given up if it is not back within ",
                   absl::FormatDuration(options_.worker_lease)));
}

void Coordinator::On(const DrainRequested& event) {
  if (!CheckDrain(event.worker).ok() || cluster_.IsDraining(event.worker) == !event.undo) return;
  cluster_.SetDraining(event.worker, !event.undo);
  effects_.push_back(PersistDrain{event.worker, !event.undo});
  schedule_due_ = true;
  if (event.undo) return;
  const std::string why = absl::StrCat("worker ", event.worker.value(), " is being drained");
  for (auto& [id, run] : runs_) {
    const bool trains = run.attempt.state() != Attempt::State::kPreparing;
    // One that cannot save may finish where it is.
    if (run.attempt.PresentOn(event.worker).empty() || (trains && !run.job.SavesCheckpoints())) {
      continue;
    }
    PauseAttempt(run, v1::CAUSE_CODE_DRAINED, why);
  }
}

void Coordinator::LoseWorker(const WorkerName& name, absl::string_view why) {
  Say(absl::LogSeverity::kWarning, absl::StrCat("worker ", name.value(), " was lost: ", why));
  schedule_due_ = true;
  for (const RankId& id : cluster_.Remove(name)) {
    Run* run = FindRun(id.job, id.attempt);
    if (run == nullptr || !run->attempt.Runs(id.rank, name)) continue;
    LoseRank(*run, id.rank, why);
    if (run->attempt.AllGone()) Conclude(*run);
  }
}

void Coordinator::LoseRank(Run& run, Rank rank, absl::string_view why) {
  const bool done = run.attempt.Done(rank);
  run.attempt.SetGone(rank);
  if (done) return Persist(run.job);
  Fail(run, WorkerLost(run.job.status(rank), why));
}

void Coordinator::LoseSilentWorkers() {
  for (const WorkerName& name : cluster_.SilentSince(now_.steady - options_.worker_lease)) {
    const std::string why =
        absl::StrCat("nothing was heard of it for ", absl::FormatDuration(options_.worker_lease));
    if (const auto connection = cluster_.Find(name)->connection) {
      effects_.push_back(CloseWorker{name, *connection, absl::DeadlineExceededError(why)});
    }
    LoseWorker(name, why);
  }
}

void Coordinator::On(const WorkerMessage& event) {
  if (!cluster_.Hear(event.worker, event.connection, now_)) return;
  const v1::WorkerToCoordinator& message = event.message;
  if (message.has_heartbeat() && message.sequence() == 0) {
    return OnHeartbeat(event.worker, message.heartbeat());
  }
  const Cluster::Order order = cluster_.Take(event.worker, message.sequence());
  if (order == Cluster::Order::kGap) {
    effects_.push_back(
        CloseWorker{event.worker, event.connection,
                    absl::DataLossError(absl::StrCat("message ", message.sequence(),
                                                     " came before the one ahead of it"))});
    return cluster_.Disconnect(event.worker);
  }
  if (order == Cluster::Order::kNext) Hear(event.worker, message);
  effects_.push_back(AcknowledgeWorker{event.connection, message.sequence()});
}

void Coordinator::Hear(const WorkerName& worker, const v1::WorkerToCoordinator& message) {
  switch (message.kind_case()) {
    case v1::WorkerToCoordinator::kHeartbeat:
      return OnHeartbeat(worker, message.heartbeat());
    case v1::WorkerToCoordinator::kRankPrepared:
      return OnPrepared(worker, message.rank_prepared());
    case v1::WorkerToCoordinator::kRankReport:
      return OnReport(worker, message.rank_report());
    case v1::WorkerToCoordinator::kRankExited:
      return OnExited(worker, message.rank_exited());
    case v1::WorkerToCoordinator::kRankLog:
      return OnLog(message.rank_log());
    default:
      return;
  }
}

}  // namespace tandem::core
