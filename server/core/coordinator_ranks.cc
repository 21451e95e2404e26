// The part of the Coordinator that hears what workers say about their ranks.

#include <csignal>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "server/core/cause.h"
#include "server/core/coordinator.h"
#include "server/core/nccl_id.h"

namespace tandem::core {
namespace {

constexpr absl::string_view kStale = "the attempt is over";

bool IsPort(uint32_t number) {
  return number > 0 && number <= std::numeric_limits<uint16_t>::max();
}

// At what rank 0 announced.
std::optional<v1::Cause> CannotMeet(const Job& job, const v1::Prepared& rank_0) {
  if (!IsPort(rank_0.master_port())) return NoMasterPort(job.status(Rank(0)));
  const std::string problem = ProblemWithNcclId(job.view(), rank_0);
  if (problem.empty()) return std::nullopt;
  return BadNcclId(job.status(Rank(0)), problem);
}

// Of a rank that has finished or paused. Its agent may have had to force it.
bool EndedAsItShould(const v1::RankExited& exit) {
  const bool clean = exit.exit_code() == 0 && exit.signal() == 0;
  return clean || exit.aborted() || exit.signal() == SIGTERM || exit.signal() == SIGKILL;
}

}  // namespace

Coordinator::Run* Coordinator::FindRun(const JobId& job, AttemptNumber attempt) {
  const auto it = runs_.find(job);
  return it == runs_.end() || it->second.attempt.number() != attempt ? nullptr : &it->second;
}

template <typename Message>
Coordinator::Run* Coordinator::FindRun(const WorkerName& worker, const Message& message) {
  Run* run = FindRun(JobId(message.job_id()), AttemptNumber(message.attempt()));
  return run != nullptr && run->attempt.Runs(Rank(message.rank()), worker) ? run : nullptr;
}

void Coordinator::OnHeartbeat(const WorkerName& worker, const v1::Heartbeat& heartbeat) {
  if (heartbeat.has_host_facts()) cluster_.NoteHost(worker, heartbeat.host_facts(), now_);
  std::set<std::pair<JobId, AttemptNumber>> stale;
  for (const v1::RankPosition& position : heartbeat.ranks()) {
    const JobId job(position.job_id());
    const AttemptNumber attempt(position.attempt());
    if (FindRun(job, attempt) == nullptr) stale.emplace(job, attempt);
    Run* run = FindRun(worker, position);
    if (run == nullptr) continue;
    const Rank rank(position.rank());
    if (position.pid() != 0) run->job.SetProcess(rank, position.pid());
    bool moved = run->job.SetPosition(rank, position.step(), position.phase());
    moved = run->job.SetProcessState(rank, position.process()) || moved;
    if (HangWatch* watch = run->attempt.hang_watch()) watch->Observe(rank, position, now_);
    const bool rated = rank == Rank(0) && run->job.RefreshRate(now_);
    if (moved || rated) Changed(run->job);
  }
  for (const auto& [job, attempt] : stale) SendAbort(worker, job, attempt, kStale);
}

void Coordinator::OnPrepared(const WorkerName& worker, const v1::RankPrepared& prepared) {
  const JobId job(prepared.job_id());
  const AttemptNumber attempt(prepared.attempt());
  if (FindRun(job, attempt) == nullptr) return SendAbort(worker, job, attempt, kStale);
  Run* run = FindRun(worker, prepared);
  if (run == nullptr || run->attempt.state() != Attempt::State::kPreparing) return;
  const Rank rank(prepared.rank());
  run->job.SetProcess(rank, prepared.pid());
  Changed(run->job);
  if (rank == Rank(0)) {
    if (auto cause = CannotMeet(run->job, prepared.prepared()))
      return Fail(*run, *std::move(cause));
  }
  run->attempt.SetPrepared(rank, prepared.prepared());
  if (!run->attempt.AllPrepared()) return;
  if (const auto other = run->attempt.BeginningElsewhere()) {
    return Fail(*run,
                BeginsElsewhere(run->job.status(*other), run->attempt.prepared(*other).steps_done(),
                                run->attempt.prepared(Rank(0)).steps_done()));
  }
  StartTraining(*run);
}

void Coordinator::OnReport(const WorkerName& worker, const v1::RankReport& report) {
  Run* run = FindRun(worker, report);
  if (run == nullptr) return;
  const Rank rank(report.rank());
  if (report.has_failure()) return OnFailure(*run, rank, report.failure());
  if (run->attempt.state() == Attempt::State::kPreparing) return;
  if (report.has_progress() && rank == Rank(0)) return OnProgress(*run, report.progress());
  if (report.has_finished()) return OnFinished(*run, rank, report.finished());
  if (report.has_paused()) return OnPaused(*run, rank, report.paused());
}

void Coordinator::OnProgress(Run& run, const v1::RankProgress& progress) {
  const bool begins = run.job.view().first_step() == 0;
  const bool saved = run.job.AddProgress(progress, now_);
  const bool has_begun = begins && run.job.view().first_step() > 0;
  if (has_begun && run.job.Pause()) effects_.push_back(PauseMeasured{*run.job.Pause()});
  StepsDone done{static_cast<uint64_t>(progress.samples_size()), 0};
  for (const v1::StepSample& sample : progress.samples()) done.samples += sample.count();
  effects_.push_back(RecordHistory{run.job.id(), progress});
  effects_.push_back(done);
  if (saved) {
    Persist(run.job);
  } else {
    Changed(run.job);
  }
}

void Coordinator::OnFinished(Run& run, Rank rank, const v1::RankFinished& finished) {
  run.attempt.SetFinished(rank, finished.parameter_digest());
  Persist(run.job);
  if (!run.attempt.Trains() || !run.attempt.AllFinished()) return;
  if (const auto deviating = run.attempt.Deviating()) {
    Fail(run, DigestsDiffer(run.job.status(*deviating)));
  }
}

void Coordinator::OnPaused(Run& run, Rank rank, const v1::RankPaused& paused) {
  run.attempt.SetPaused(rank, paused.step());
  Persist(run.job);
}

// Lines of the last attempt of a job that has ended, too.
void Coordinator::OnLog(const v1::RankLog& log) {
  const Job* job = Find(JobId(log.job_id()));
  if (job == nullptr || log.attempt() == 0) return;
  if (job->attempt() == AttemptNumber(log.attempt())) effects_.push_back(AppendLogs{log});
}

void Coordinator::OnFailure(Run& run, Rank rank, const v1::RankFailure& failure) {
  run.attempt.SetExplained(rank);
  Fail(run, FailureReported(run.job.status(rank), failure));
}

void Coordinator::OnExited(const WorkerName& worker, const v1::RankExited& exit) {
  const Rank rank(exit.rank());
  if (cluster_.Free(worker, {JobId(exit.job_id()), AttemptNumber(exit.attempt()), rank})) {
    schedule_due_ = true;
  }
  Run* run = FindRun(worker, exit);
  if (run == nullptr) return;
  run->job.SetPosition(rank, exit.step(), exit.phase());
  Changed(run->job);
  run->attempt.SetGone(rank);
  JudgeExit(*run, exit);
  run->job.AddLastLines(exit);
  if (run->attempt.AllGone()) return Conclude(*run);
  Persist(run->job);
}

void Coordinator::JudgeExit(Run& run, const v1::RankExited& exit) {
  const Rank rank(exit.rank());
  if (run.attempt.Done(rank) && EndedAsItShould(exit)) return;
  // The agent itself goes away: that is nobody's order and no error of the rank.
  const bool agent_leaves = exit.failure().code() == v1::CAUSE_CODE_WORKER_LOST;
  if (exit.has_failure() && !agent_leaves) return OnFailure(run, rank, exit.failure());
  if (run.attempt.Explained(rank)) return;
  if (!exit.aborted() && !agent_leaves) return Fail(run, RankDied(exit));
  if (agent_leaves || run.attempt.state() != Attempt::State::kEnding) {
    Fail(run, RankStopped(run.job.status(rank), exit));
  }
}

}  // namespace tandem::core
