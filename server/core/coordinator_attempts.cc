// The part of the Coordinator that starts attempts and ends them.

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/cause.h"
#include "server/core/coordinator.h"

namespace tandem::core {

void Coordinator::StartAttempt(Job& job, const std::vector<Placement>& places) {
  if (!job.StartAttempt(places, now_)) return;
  queue_.erase(job.sequence());
  runs_.emplace(job.id(), Run{job, Attempt(job.attempt(), places, options_, now_)});
  for (uint32_t rank = 0; rank < places.size(); ++rank) {
    cluster_.Occupy(places[rank], {job.id(), job.attempt(), Rank(rank)});
  }
  Persist(job);
  effects_.push_back(AttemptStarted{job.id()});
  SendPrepare(job);
}

void Coordinator::SendPrepare(const Job& job) {
  std::map<WorkerName, v1::CoordinatorToWorker> messages;
  for (const v1::RankStatus& rank : job.view().ranks()) {
    v1::PrepareRanks& prepare = *messages[WorkerName(rank.worker())].mutable_prepare_ranks();
    v1::RankPlacement& placement = *prepare.add_ranks();
    placement.set_rank(rank.rank());
    placement.set_slot(rank.slot());
  }
  for (auto& [worker, message] : messages) {
    v1::PrepareRanks& prepare = *message.mutable_prepare_ranks();
    prepare.set_job_id(job.id().value());
    prepare.set_attempt(job.attempt().value());
    prepare.set_world_size(job.view().world_size());
    *prepare.mutable_spec() = job.view().spec();
    Send(worker, std::move(message));
  }
}

void Coordinator::StartTraining(Run& run) {
  const v1::Prepared& meeting_point = run.attempt.meeting_point();
  if (!run.attempt.SetRunning() || !run.job.Run(meeting_point, now_)) return;
  Persist(run.job);
  effects_.push_back(RendezvousMeasured{run.attempt.Age(now_)});
  v1::CoordinatorToWorker message;
  v1::Start& start = *message.mutable_start_ranks()->mutable_start();
  start.set_job_id(run.job.id().value());
  start.set_attempt(run.attempt.number().value());
  start.set_master_address(
      cluster_.Find(WorkerName(run.job.view().ranks(0).worker()))->advertise_address);
  start.set_master_port(meeting_point.master_port());
  start.set_nccl_unique_id(meeting_point.nccl_unique_id());
  for (const WorkerName& worker : run.attempt.Workers()) Send(worker, message);
}

void Coordinator::Fail(Run& run, v1::Cause cause) {
  const std::string message = cause.message();
  if (run.job.SetCause(std::move(cause), now_)) Changed(run.job);
  EndAttempt(run, message);
}

void Coordinator::EndAttempt(Run& run, absl::string_view reason) {
  if (!run.attempt.SetEnding(now_)) return;
  for (const WorkerName& worker : run.attempt.Workers()) {
    SendAbort(worker, run.job.id(), run.attempt.number(), reason);
  }
}

// `run` is no more when this returns.
void Coordinator::Conclude(Run& run) {
  Job& job = run.job;
  if (job.FinishCancel(now_)) {
    Say(absl::LogSeverity::kInfo, absl::StrCat("job ", job.id().value(), " was cancelled"));
  } else if (job.HasCause()) {
    job.Fail(now_);
    effects_.push_back(AttemptFailed{job.view().cause().code()});
    Say(absl::LogSeverity::kWarning,
        absl::StrCat("job ", job.id().value(), " failed: ", job.view().cause().message()));
  } else {
    job.Succeed(run.attempt.digest(), now_);
    Say(absl::LogSeverity::kInfo, absl::StrCat("job ", job.id().value(), " succeeded"));
  }
  Persist(job);
  runs_.erase(job.id());
}

void Coordinator::EndOverdue() {
  std::vector<JobId> overdue;
  for (const auto& [id, run] : runs_) {
    if (run.attempt.deadline() <= now_.steady) overdue.push_back(id);
  }
  for (const JobId& id : overdue) EndOverdue(runs_.at(id));
}

void Coordinator::EndOverdue(Run& run) {
  const auto& ranks = run.job.view().ranks();
  if (run.attempt.state() == Attempt::State::kPreparing) {
    std::vector<const v1::RankStatus*> missing;
    for (const Rank rank : run.attempt.Unprepared()) {
      missing.push_back(&ranks[static_cast<int>(rank.value())]);
    }
    return Fail(run, PrepareTimedOut(missing, ranks.size(), options_.prepare_timeout));
  }
  Say(absl::LogSeverity::kWarning,
      absl::StrCat("job ", run.job.id().value(), ": ", run.attempt.Present().size(),
                   " ranks are still there ", absl::FormatDuration(options_.abort_timeout),
                   " after they were told to stop; their slots stay busy (workers ",
                   absl::StrJoin(run.attempt.Workers(), ", ", absl::StreamFormatter()), ")"));
  Conclude(run);
}

}  // namespace tandem::core
