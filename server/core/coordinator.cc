#include "server/core/coordinator.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"

namespace tandem::core {
namespace {

absl::Status NoSuchJob(const JobId& id) {
  return absl::NotFoundError(absl::StrCat("there is no job ", id.value()));
}

absl::Status HasEnded(const JobId& id) {
  return absl::FailedPreconditionError(absl::StrCat("job ", id.value(), " has already ended"));
}

}  // namespace

Effects Coordinator::Restore(std::vector<v1::JobRecord> records,
                             const std::vector<WorkerName>& draining, Moment now) {
  now_ = now;
  for (const WorkerName& worker : draining) cluster_.SetDraining(worker, true);
  std::vector<const v1::Job*> ended;
  for (v1::JobRecord& record : records) Resume(std::move(record));
  for (const auto& [sequence, job] : jobs_) {
    if (job.ended()) ended.push_back(&job.view());
  }
  std::stable_sort(ended.begin(), ended.end(), [](const v1::Job* a, const v1::Job* b) {
    return FromProto(a->ended_at()) < FromProto(b->ended_at());
  });
  // Of those that have only now been found to have ended there may be some already.
  ended_.clear();
  for (const v1::Job* job : ended) ended_.emplace_back(job->id());
  ForgetOldJobs();
  schedule_due_ = true;
  return TakeEffects();
}

Effects Coordinator::Apply(const Event& event, Moment now) {
  now_ = now;
  std::visit([this](const auto& happened) { On(happened); }, event);
  return TakeEffects();
}

Effects Coordinator::TakeEffects() {
  if (std::exchange(schedule_due_, false)) PlaceJobs();
  for (const JobId& id : std::exchange(changed_, {})) effects_.push_back(JobChanged{id});
  return std::exchange(effects_, {});
}

Job& Coordinator::Insert(Job job) {
  const uint64_t sequence = job.sequence();
  last_sequence_ = std::max(last_sequence_, sequence);
  sequences_.emplace(job.id(), sequence);
  if (!job.request_id().empty()) request_ids_.emplace(job.request_id(), job.id());
  if (job.state() == v1::JOB_STATE_QUEUED) queue_.insert(sequence);
  return jobs_.emplace(sequence, std::move(job)).first->second;
}

void Coordinator::Resume(v1::JobRecord record) {
  std::optional<Attempt> attempt;
  if (record.has_start()) attempt.emplace(record, OptionsFor(record.job().spec(), options_), now_);
  Job& job = Insert(Job(std::move(record), now_));
  if (job.ended() || job.state() == v1::JOB_STATE_QUEUED) return;
  if (attempt) return Adopt(job, *std::move(attempt));
  if (job.FinishCancel(now_)) return Persist(job);
  if (job.HasCause()) return ConcludeFailure(job);
  job.SetPlannedEnd(v1::CAUSE_CODE_COORDINATOR_RESTARTED,
                    "the coordinator was restarted while the ranks were being prepared", now_);
  job.Requeue(now_);
  queue_.insert(job.sequence());
  Persist(job);
}

void Coordinator::Adopt(Job& job, Attempt attempt) {
  Run& run = runs_.emplace(job.id(), Run{job, std::move(attempt)}).first->second;
  for (const Rank rank : run.attempt.Present()) {
    const v1::RankStatus& status = job.status(rank);
    cluster_.Expect(WorkerName(status.worker()), run.attempt.incarnation(rank), status.slot(),
                    {job.id(), job.attempt(), rank}, now_);
  }
  Say(absl::LogSeverity::kInfo,
      absl::StrCat("job ", job.id().value(), " goes on with attempt ", job.attempt().value(),
                   " when its workers connect again"));
  if (job.state() == v1::JOB_STATE_CANCELLING || job.HasCause()) {
    EndAttempt(run, "the attempt was being ended when the coordinator was restarted");
  } else if (job.EndIsPlanned() && !run.attempt.IsWindingUp()) {
    run.attempt.SetPausing(now_);
  }
}

void Coordinator::NoteEnd(const Job& job) {
  ended_.push_back(job.id());
  ForgetOldJobs();
}

void Coordinator::ForgetOldJobs() {
  while (ended_.size() > options_.kept_jobs) {
    const JobId id = ended_.front();
    ended_.pop_front();
    Forget(*Find(id));
    effects_.push_back(ForgetJob{id});
  }
}

void Coordinator::Forget(const Job& job) {
  const uint64_t sequence = job.sequence();
  request_ids_.erase(job.request_id());
  queue_.erase(sequence);
  sequences_.erase(job.id());
  changed_.erase(job.id());
  jobs_.erase(sequence);
}

void Coordinator::On(const JobSubmitted& event) {
  if (Find(event.id) != nullptr || FindByRequestId(event.request_id) != nullptr) return;
  Persist(Insert(Job(last_sequence_ + 1, event, now_)));
}

void Coordinator::On(const JobWithdrawn& event) {
  if (const Job* job = Find(event.id)) Forget(*job);
}

void Coordinator::On(const CancelRequested& event) {
  if (Find(event.id) == nullptr) return;
  Job& job = jobs_.at(sequences_.at(event.id));
  if (!job.Cancel(now_)) return;
  Persist(job);
  Say(absl::LogSeverity::kInfo, absl::StrCat("job ", event.id.value(), ": a cancel was asked for"));
  queue_.erase(job.sequence());
  schedule_due_ = true;
  const auto run = runs_.find(event.id);
  if (run != runs_.end()) return EndAttempt(run->second, "the job was cancelled");
  NoteEnd(job);
}

void Coordinator::On(const ResizeRequested& event) {
  if (!CheckResize(event.id, event.min_workers, event.max_workers).ok()) return;
  Job& job = jobs_.at(sequences_.at(event.id));
  job.SetBounds(event.min_workers, event.max_workers);
  Persist(job);
  schedule_due_ = true;
  const auto run = runs_.find(event.id);
  // To one that is too small the scheduler gives more when there is more.
  if (run == runs_.end() || job.view().world_size() <= event.max_workers) return;
  PauseAttempt(run->second, v1::CAUSE_CODE_RESIZED,
               absl::StrCat("it was asked to go on with ", event.max_workers, " workers"));
}

void Coordinator::On(const ScheduleDue&) { schedule_due_ = true; }

void Coordinator::On(const HeldUp&) {
  cluster_.HearAll(now_);
  for (auto& [id, run] : runs_) {
    HangWatch* watch = run.attempt.hang_watch();
    if (watch == nullptr) continue;
    for (const Rank rank : run.attempt.Present()) watch->Excuse(rank, now_);
  }
}

void Coordinator::On(const TimePassed&) {
  LoseSilentWorkers();
  EndOverdue();
  schedule_due_ = schedule_due_ || !queue_.empty() || !runs_.empty();
}

const Job* Coordinator::Find(const JobId& id) const {
  const auto it = sequences_.find(id);
  return it == sequences_.end() ? nullptr : &jobs_.at(it->second);
}

const v1::Job* Coordinator::FindJob(const JobId& id) const {
  const Job* job = Find(id);
  return job == nullptr ? nullptr : &job->view();
}

const v1::Job* Coordinator::FindByRequestId(absl::string_view request_id) const {
  const auto it = request_ids_.find(request_id);
  return it == request_ids_.end() ? nullptr : FindJob(it->second);
}

std::vector<const v1::Job*> Coordinator::Jobs() const {
  std::vector<const v1::Job*> jobs;
  for (auto it = jobs_.rbegin(); it != jobs_.rend(); ++it) jobs.push_back(&it->second.view());
  return jobs;
}

std::vector<v1::Worker> Coordinator::Workers() const {
  std::vector<v1::Worker> workers;
  for (const auto& [name, worker] : cluster_.workers()) workers.push_back(cluster_.ViewOf(name));
  return workers;
}

absl::Status Coordinator::CheckResize(const JobId& id, uint32_t min, uint32_t max) const {
  const Job* job = Find(id);
  if (job == nullptr) return NoSuchJob(id);
  const uint32_t logical_ranks = job->view().logical_ranks();
  if (min < 1 || min > max || max > logical_ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", id.value(), " can have from 1 to ", logical_ranks,
                     " workers, one for each of its logical ranks; ", min,
                     min == max ? std::string() : absl::StrCat(" to ", max), " was asked for"));
  }
  if (job->ended()) return HasEnded(id);
  if (job->SavesCheckpoints() || job->state() == v1::JOB_STATE_QUEUED) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "job ", id.value(),
      " runs and has no 'checkpoint' in its specification: it would have to begin anew"));
}

absl::Status Coordinator::CheckDrain(const WorkerName& name) const {
  if (cluster_.Find(name) != nullptr || cluster_.IsDraining(name)) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("there is no worker ", name.value()));
}

absl::Status Coordinator::CheckCancel(const JobId& id) const {
  const Job* job = Find(id);
  if (job == nullptr) return NoSuchJob(id);
  return job->ended() ? HasEnded(id) : absl::OkStatus();
}

void Coordinator::Persist(const Job& job) {
  PersistJob persist{job.Record()};
  const auto run = runs_.find(job.id());
  if (run != runs_.end()) run->second.attempt.WriteTo(&persist.record);
  effects_.push_back(std::move(persist));
  Changed(job);
}

// What a worker misses while it is not connected, Instruct tells it later.
void Coordinator::Send(const WorkerName& worker, v1::CoordinatorToWorker message) {
  const Worker* to = cluster_.Find(worker);
  if (to == nullptr || !to->connection) return;
  effects_.push_back(SendToWorker{worker, *to->connection, std::move(message)});
}

void Coordinator::SendAbort(const WorkerName& worker, const JobId& job, AttemptNumber attempt,
                            absl::string_view reason, bool print_stacks) {
  v1::CoordinatorToWorker message;
  v1::Abort& abort = *message.mutable_abort();
  abort.set_job_id(job.value());
  abort.set_attempt(attempt.value());
  abort.set_reason(std::string(reason));
  abort.set_print_stacks(print_stacks);
  Send(worker, std::move(message));
}

void Coordinator::Say(absl::LogSeverity severity, std::string text) {
  effects_.push_back(Log{severity, std::move(text)});
}

}  // namespace tandem::core
