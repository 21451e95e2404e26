#include "server/core/coordinator.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tandem::core {

Effects Coordinator::Restore(std::vector<v1::JobRecord> records, Moment now) {
  now_ = now;
  for (v1::JobRecord& record : records) Resume(Insert(Job(std::move(record), now)));
  schedule_due_ = true;
  return TakeEffects();
}

Effects Coordinator::Apply(const Event& event, Moment now) {
  now_ = now;
  std::visit([this](const auto& happened) { On(happened); }, event);
  return TakeEffects();
}

Effects Coordinator::TakeEffects() {
  if (std::exchange(schedule_due_, false)) ScheduleJobs();
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

void Coordinator::Resume(Job& job) {
  if (job.Requeue(now_)) {
    queue_.insert(job.sequence());
    Say(absl::LogSeverity::kInfo,
        absl::StrCat("job ", job.id().value(),
                     " is queued again: the coordinator was restarted during attempt ",
                     job.attempt().value()));
  } else if (!job.FinishCancel(now_)) {
    return;
  }
  Persist(job);
}

void Coordinator::On(const JobSubmitted& event) {
  if (Find(event.id) != nullptr || FindByRequestId(event.request_id) != nullptr) return;
  Persist(Insert(Job(last_sequence_ + 1, event, now_)));
  schedule_due_ = true;
}

void Coordinator::On(const JobWithdrawn& event) {
  const Job* job = Find(event.id);
  if (job == nullptr) return;
  for (const v1::RankStatus& rank : job->view().ranks()) {
    cluster_.Free(WorkerName(rank.worker()), {event.id, job->attempt(), Rank(rank.rank())});
  }
  const uint64_t sequence = job->sequence();
  request_ids_.erase(job->request_id());
  runs_.erase(event.id);
  queue_.erase(sequence);
  sequences_.erase(event.id);
  jobs_.erase(sequence);
  schedule_due_ = true;
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
  if (run != runs_.end()) EndAttempt(run->second, "the job was cancelled");
}

void Coordinator::On(const TimePassed&) {
  LoseSilentWorkers();
  EndOverdue();
}

void Coordinator::ScheduleJobs() {
  std::vector<Demand> queue;
  for (const uint64_t sequence : queue_) {
    const Job& job = jobs_.at(sequence);
    queue.push_back({job.id(), job.view().world_size()});
  }
  const Schedule schedule = ScheduleQueue(cluster_.Slots(), queue);
  for (const Schedule::Start& start : schedule.starts) {
    StartAttempt(jobs_.at(sequences_.at(start.job)), start.ranks);
  }
  for (const Schedule::Wait& wait : schedule.waits) {
    Job& job = jobs_.at(sequences_.at(wait.job));
    if (!job.SetWaitingReason(wait.reason)) continue;
    Changed(job);
    Say(absl::LogSeverity::kInfo, absl::StrCat("job ", wait.job.value(), " ", wait.reason));
  }
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
  for (const auto& [name, worker] : cluster_.workers()) workers.push_back(ViewOf(worker));
  return workers;
}

absl::Status Coordinator::CheckCancel(const JobId& id) const {
  const Job* job = Find(id);
  if (job == nullptr) return absl::NotFoundError(absl::StrCat("there is no job ", id.value()));
  if (!job->ended()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("job ", id.value(), " has already ended"));
}

bool Coordinator::IsCurrentAttempt(const JobId& id, AttemptNumber attempt) const {
  const Job* job = Find(id);
  return job != nullptr && attempt != AttemptNumber(0) && job->attempt() == attempt;
}

void Coordinator::Persist(const Job& job) {
  effects_.push_back(PersistJob{job.Record()});
  Changed(job);
}

void Coordinator::Send(const WorkerName& worker, v1::CoordinatorToWorker message) {
  const Worker* to = cluster_.Find(worker);
  if (to == nullptr) return;
  effects_.push_back(SendToWorker{worker, to->connection, std::move(message)});
}

void Coordinator::SendAbort(const WorkerName& worker, const JobId& job, AttemptNumber attempt,
                            absl::string_view reason) {
  v1::CoordinatorToWorker message;
  v1::Abort& abort = *message.mutable_abort();
  abort.set_job_id(job.value());
  abort.set_attempt(attempt.value());
  abort.set_reason(std::string(reason));
  Send(worker, std::move(message));
}

void Coordinator::Say(absl::LogSeverity severity, std::string text) {
  effects_.push_back(Log{severity, std::move(text)});
}

}  // namespace tandem::core
