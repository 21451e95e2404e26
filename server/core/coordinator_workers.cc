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
  return message;
}

}  // namespace

void Coordinator::On(const WorkerConnected& event) {
  const WorkerName name(event.registration.name());
  if (absl::Status refused = CheckConnect(event.registration); !refused.ok()) {
    effects_.push_back(CloseWorker{name, event.connection, std::move(refused)});
    return;
  }
  if (const Worker* worker = cluster_.Find(name)) ReplaceConnection(*worker);
  cluster_.Connect(event.registration, event.connection, now_);
  Send(name, RegisteredMessage(options_));
  AbortStale(event.registration);
  Say(absl::LogSeverity::kInfo,
      absl::StrCat("worker ", name.value(), " connected from ", event.registration.host(), " with ",
                   event.registration.slots_size(), " slots"));
  schedule_due_ = true;
}

absl::Status Coordinator::CheckConnect(const v1::Register& registration) const {
  if (absl::Status status = CheckRegistration(registration); !status.ok()) return status;
  const Worker* worker = cluster_.Find(WorkerName(registration.name()));
  if (worker == nullptr || worker->incarnation == Incarnation(registration.incarnation())) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(absl::StrCat("worker '", registration.name(),
                                               "' is connected already, from ", worker->host,
                                               ": stop that agent, or choose another name"));
}

void Coordinator::ReplaceConnection(const Worker& worker) {
  const WorkerName name = worker.name;
  effects_.push_back(CloseWorker{name, worker.connection,
                                 absl::AbortedError("this agent has opened a newer connection")});
  LoseWorker(name, "its connection broke and was replaced");
}

// The ranks of a lost connection were given up when it was lost, so none of them is live.
void Coordinator::AbortStale(const v1::Register& registration) {
  std::set<std::pair<JobId, AttemptNumber>> stale;
  for (const v1::RunningRank& rank : registration.running()) {
    stale.emplace(rank.job_id(), rank.attempt());
  }
  for (const auto& [job, attempt] : stale) {
    SendAbort(WorkerName(registration.name()), job, attempt, "the attempt was given up meanwhile");
  }
}

void Coordinator::On(const WorkerDisconnected& event) {
  const Worker* worker = cluster_.Find(event.worker);
  if (worker == nullptr || worker->incarnation != event.incarnation) return;
  if (worker->connection == event.connection) LoseWorker(event.worker, event.reason);
}

void Coordinator::LoseWorker(const WorkerName& name, absl::string_view why) {
  Say(absl::LogSeverity::kWarning, absl::StrCat("worker ", name.value(), " was lost: ", why));
  schedule_due_ = true;
  for (const RankId& id : cluster_.Remove(name)) {
    Run* run = FindRun(id.job, id.attempt);
    if (run == nullptr || !run->attempt.Runs(id.rank, name)) continue;
    run->attempt.SetGone(id.rank);
    Fail(*run, WorkerLost(run->job.view().ranks(static_cast<int>(id.rank.value())), why));
    if (run->attempt.AllGone()) Conclude(*run);
  }
}

void Coordinator::LoseSilentWorkers() {
  for (const WorkerName& name : cluster_.SilentSince(now_.steady - options_.worker_lease)) {
    const std::string why =
        absl::StrCat("nothing was heard of it for ", absl::FormatDuration(options_.worker_lease));
    effects_.push_back(
        CloseWorker{name, cluster_.Find(name)->connection, absl::DeadlineExceededError(why)});
    LoseWorker(name, why);
  }
}

void Coordinator::On(const WorkerMessage& event) {
  if (!cluster_.Hear(event.worker, event.incarnation, now_)) return;
  const v1::WorkerToCoordinator& message = event.message;
  switch (message.kind_case()) {
    case v1::WorkerToCoordinator::kHeartbeat:
      return OnHeartbeat(event.worker, message.heartbeat());
    case v1::WorkerToCoordinator::kRankPrepared:
      return OnPrepared(event.worker, message.rank_prepared());
    case v1::WorkerToCoordinator::kRankReport:
      return OnReport(event.worker, message.rank_report());
    case v1::WorkerToCoordinator::kRankExited:
      return OnExited(event.worker, message.rank_exited());
    default:
      return;
  }
}

}  // namespace tandem::core
