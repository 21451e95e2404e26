// The part of the Coordinator that starts attempts and ends them.

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/cause.h"
#include "server/core/coordinator.h"
#include "server/core/nccl_id.h"

namespace tandem::core {

void Coordinator::StartAttempt(Job& job, const std::vector<Placement>& places) {
  if (!job.StartAttempt(places, now_)) return;
  queue_.erase(job.sequence());
  std::vector<Incarnation> incarnations;
  for (uint32_t rank = 0; rank < places.size(); ++rank) {
    cluster_.Occupy(places[rank], {job.id(), job.attempt(), Rank(rank)});
    incarnations.push_back(cluster_.Find(places[rank].worker)->incarnation);
  }
  const Run& run =
      runs_
          .emplace(job.id(), Run{job, Attempt(job.attempt(), places, incarnations,
                                              OptionsFor(job.view().spec(), options_), now_)})
          .first->second;
  Persist(job);
  effects_.push_back(AttemptStarted{job.id()});
  for (const WorkerName& worker : run.attempt.Workers()) Instruct(run, worker);
}

void Coordinator::StartTraining(Run& run) {
  const v1::Prepared& meeting_point = run.attempt.prepared(Rank(0));
  v1::Start start;
  start.set_job_id(run.job.id().value());
  start.set_attempt(run.attempt.number().value());
  start.set_master_address(
      cluster_.Find(WorkerName(run.job.view().ranks(0).worker()))->advertise_address);
  start.set_master_port(meeting_point.master_port());
  if (MeetsByNcclId(run.job.view())) start.set_nccl_unique_id(meeting_point.nccl_unique_id());
  start.set_report_port(meeting_point.report_port());
  start.set_report_token(meeting_point.report_token());
  if (!run.attempt.SetRunning(start, HangTimeoutOf(run.job.view().spec()), now_)) return;
  if (!run.job.Run(meeting_point, now_)) return;
  Persist(run.job);
  effects_.push_back(RendezvousMeasured{run.attempt.Age(now_)});
  for (const WorkerName& worker : run.attempt.Workers()) Instruct(run, worker);
}

void Coordinator::PauseAttempt(Run& run, v1::CauseCode code, const std::string& why) {
  const bool prepares = run.attempt.state() == Attempt::State::kPreparing;
  if (run.attempt.IsWindingUp() || (!prepares && !run.attempt.SetPausing(now_))) return;
  run.job.SetPlannedEnd(code, why, now_);
  Persist(run.job);
  if (prepares) {
    EndAttempt(run, why);
  } else {
    for (const WorkerName& worker : run.attempt.Workers()) SendPause(run, worker);
  }
  Say(absl::LogSeverity::kInfo, absl::StrCat("job ", run.job.id().value(), ": attempt ",
                                             run.attempt.number().value(), " is paused: ", why));
}

void Coordinator::Fail(Run& run, v1::Cause cause) {
  // What goes wrong after it was told to end is what it was told.
  if (run.attempt.state() == Attempt::State::kEnding && run.job.EndIsPlanned()) return;
  const bool hung = cause.code() == v1::CAUSE_CODE_HUNG;
  const std::string message = cause.message();
  if (run.job.SetCause(std::move(cause), now_)) Persist(run.job);
  EndAttempt(run, message, hung);
}

void Coordinator::EndAttempt(Run& run, absl::string_view reason, bool print_stacks) {
  if (!run.attempt.SetEnding(now_)) return;
  for (const WorkerName& worker : run.attempt.Workers()) {
    SendAbort(worker, run.job.id(), run.attempt.number(), reason, print_stacks);
  }
}

void Coordinator::Conclude(Run& run) {
  Job& job = run.job;
  const bool finished = run.attempt.AllFinished();
  const std::string digest = finished ? run.attempt.digest() : "";
  runs_.erase(job.id());
  schedule_due_ = true;
  if (job.FinishCancel(now_)) {
    Say(absl::LogSeverity::kInfo, absl::StrCat("job ", job.id().value(), " was cancelled"));
  } else if (job.HasCause()) {
    return ConcludeFailure(job);
  } else if (finished) {
    job.Succeed(digest, now_);
    Say(absl::LogSeverity::kInfo, absl::StrCat("job ", job.id().value(), " succeeded"));
  } else {
    job.Requeue(now_);
    queue_.insert(job.sequence());
    effects_.push_back(AttemptFailed{job.view().attempts().rbegin()->cause().code()});
  }
  Persist(job);
  if (job.ended()) NoteEnd(job);
}

void Coordinator::ConcludeFailure(Job& job) {
  const std::string& why = job.view().cause().message();
  const std::string name = absl::StrCat("job ", job.id().value());
  effects_.push_back(AttemptFailed{job.view().cause().code()});
  if (job.Retry(now_)) {
    queue_.insert(job.sequence());
    Say(absl::LogSeverity::kWarning,
        absl::StrCat(name, ": attempt ", job.attempt().value(),
                     " failed and is followed by another (", job.view().failures(), " of ",
                     job.view().spec().restart().max(), "): ", why));
    return Persist(job);
  }
  job.Fail(now_);
  Say(absl::LogSeverity::kWarning, absl::StrCat(name, " failed: ", why));
  Persist(job);
  NoteEnd(job);
}

void Coordinator::EndOverdue() {
  std::vector<JobId> live, overdue;
  for (const auto& [id, run] : runs_) {
    (run.attempt.deadline() <= now_.steady ? overdue : live).push_back(id);
  }
  for (const JobId& id : live) EndHung(runs_.at(id));
  for (const JobId& id : overdue) EndOverdue(runs_.at(id));
}

// While a worker is not connected, where its ranks are is not known.
void Coordinator::EndHung(Run& run) {
  if (!run.attempt.Trains() || !AllConnected(run)) return;
  std::optional<v1::Cause> cause = run.attempt.hang_watch()->Check(now_);
  if (cause) Fail(run, *std::move(cause));
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
  if (run.attempt.state() == Attempt::State::kPausing) {
    return EndAttempt(run, absl::StrCat("it did not pause within ",
                                        absl::FormatDuration(options_.pause_timeout)));
  }
  Say(absl::LogSeverity::kWarning,
      absl::StrCat("job ", run.job.id().value(), ": ", run.attempt.Present().size(),
                   " ranks are still there ", absl::FormatDuration(options_.abort_timeout),
                   " after they were told to stop; their slots stay busy (workers ",
                   absl::StrJoin(run.attempt.Workers(), ", ", absl::StreamFormatter()), ")"));
  Conclude(run);
}

}  // namespace tandem::core
