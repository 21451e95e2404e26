#include "server/service/controller.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/job_state.h"
#include "common/spec/spec.h"
#include "server/service/job_id.h"

namespace tandem::service {
namespace {

absl::Status Stopping() { return absl::UnavailableError("the coordinator is stopping"); }

// A job that an older tandemd left behind may lack keys that trainers read by now.
void FillNewKeys(v1::Job* job) {
  if (!HasEnded(job->state())) spec::FillDefaults(job->mutable_spec());
}

}  // namespace

Controller::Controller(core::Options options, Dependencies dependencies)
    : deps_(std::move(dependencies)), core_(options) {}

absl::Status Controller::Restore() {
  absl::StatusOr<std::vector<v1::JobRecord>> records = deps_.journal.LoadJobs();
  if (!records.ok()) return records.status();
  const absl::StatusOr<std::vector<WorkerName>> draining = deps_.journal.LoadDraining();
  if (!draining.ok()) return draining.status();
  // Published as they stand on disk, oldest first; then what the core makes of them, once that is
  // there too.
  for (const v1::JobRecord& record : *records) board_.Publish(record.job());
  for (v1::JobRecord& record : *records) FillNewKeys(record.mutable_job());
  Carry(core_.Restore(*std::move(records), *draining, deps_.clock.Now()));
  return absl::OkStatus();
}

absl::StatusOr<JobSnapshot> Controller::Submit(v1::JobSpec spec, std::string request_id) {
  if (shut_down_) return Stopping();
  if (!Ready() || !Flush()) return NothingQueued();
  if (const v1::Job* job = core_.FindByRequestId(request_id)) return board_.Find(JobId(job->id()));
  const JobId id = NewJobId(spec.name());
  Apply(core::JobSubmitted{id, std::move(spec), std::move(request_id)});
  if (journal_status_.ok()) {
    Apply(core::ScheduleDue{});
    return board_.Find(id);
  }
  const absl::Status refusal = NothingQueued();
  batch_ = {};
  after_commit_.clear();
  Apply(core::JobWithdrawn{id});
  return refusal;
}

absl::StatusOr<JobSnapshot> Controller::Cancel(const JobId& job) {
  if (shut_down_) return Stopping();
  // By what is on disk: the retry of a cancel that had to wait for the disk succeeds.
  const JobSnapshot seen = board_.Find(job);
  if (seen == nullptr || HasEnded(seen->state())) return core_.CheckCancel(job);
  if (Ready()) Apply(core::CancelRequested{job});
  if (journal_status_.ok()) return board_.Find(job);
  return Retry();
}

absl::Status Controller::Retry() const {
  return absl::UnavailableError(absl::StrCat("retry: ", journal_status_.message()));
}

absl::StatusOr<JobSnapshot> Controller::Resize(const JobId& job, uint32_t min_workers,
                                               uint32_t max_workers) {
  if (shut_down_) return Stopping();
  if (!Ready()) return Retry();
  if (absl::Status status = core_.CheckResize(job, min_workers, max_workers); !status.ok()) {
    return status;
  }
  Apply(core::ResizeRequested{job, min_workers, max_workers});
  if (journal_status_.ok()) return board_.Find(job);
  return Retry();
}

absl::StatusOr<v1::Worker> Controller::Drain(const WorkerName& worker, bool undo) {
  if (shut_down_) return Stopping();
  if (!Ready()) return Retry();
  if (absl::Status status = core_.CheckDrain(worker); !status.ok()) return status;
  Apply(core::DrainRequested{worker, undo});
  if (!journal_status_.ok()) return Retry();
  for (v1::Worker& known : core_.Workers()) {
    if (known.name() == worker.value()) return std::move(known);
  }
  v1::Worker absent;
  absent.set_name(worker.value());
  absent.set_state(v1::WORKER_STATE_DISCONNECTED);
  absent.set_draining(!undo);
  return absent;
}

void Controller::Deliver(core::Event event, absl::AnyInvocable<void()> done) {
  if (shut_down_) return;
  if (!journal_status_.ok()) {
    held_.push_back({std::move(event), std::move(done)});
    return;
  }
  Apply(event);
  done();
}

void Controller::Tick() {
  if (shut_down_ || !Ready()) return;
  // Also where nothing is to be written: nobody would hear of it until the next submission.
  if (absl::Status status = deps_.journal.Check(); !status.ok()) {
    NoteJournal(std::move(status));
    return;
  }
  Apply(core::TimePassed{});
  if (journal_status_.ok()) Flush();  // The history of the last moments.
}

void Controller::Shutdown() {
  Flush();
  shut_down_ = true;
  board_.Shutdown();
  streams_.Shutdown(Stopping());
}

absl::StatusOr<v1::GetHistoryResponse> Controller::ReadHistory(const JobId& job, uint64_t from_step,
                                                               uint32_t limit) {
  if (board_.Find(job) == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no job ", job.value()));
  }
  if (journal_status_.ok()) Flush();
  return deps_.journal.ReadHistory(job, from_step, limit);
}

void Controller::MirrorMetrics() {
  std::vector<JobSnapshot> jobs;
  for (JobBoard::Numbered& numbered : board_.NewestFirst()) jobs.push_back(std::move(numbered.job));
  deps_.metrics.Mirror(jobs, core_.Workers());
}

void Controller::Apply(const core::Event& event) { Carry(core_.Apply(event, deps_.clock.Now())); }

void Controller::Carry(core::Effects effects) {
  for (core::Effect& effect : effects) {
    std::visit([this](auto& one) { Take(std::move(one)); }, effect);
  }
  if (!batch_.IsOnlyHistory()) {
    Flush();
  } else if (journal_status_.ok()) {
    DoAfterCommit();
  }
}

void Controller::Take(core::PersistJob effect) { batch_.jobs.push_back(std::move(effect.record)); }

void Controller::Take(core::ForgetJob effect) {
  batch_.forgotten.push_back(effect.job);
  after_commit_.push_back([this, job = std::move(effect.job)] {
    board_.Forget(job);
    deps_.logs.Forget(job);
  });
}

void Controller::Take(core::PersistDrain effect) {
  batch_.drains.push_back({std::move(effect.worker), effect.draining});
}

void Controller::Take(core::AcknowledgeWorker effect) {
  acknowledgements_[effect.connection] = effect.sequence;
}

void Controller::Take(core::RecordHistory effect) {
  batch_.progress.push_back({std::move(effect.job), std::move(effect.progress)});
}

template <typename Effect>
void Controller::Take(Effect effect) {
  after_commit_.push_back(
      [this, effect = std::move(effect)]() mutable { Execute(std::move(effect)); });
}

bool Controller::Flush() {
  if (!batch_.empty() || !journal_status_.ok()) NoteJournal(deps_.journal.Commit(batch_));
  if (!journal_status_.ok()) return false;
  batch_ = {};
  DoAfterCommit();
  SendAcknowledgements();
  return true;
}

void Controller::SendAcknowledgements() {
  for (const auto& [connection, sequence] : std::exchange(acknowledgements_, {})) {
    v1::CoordinatorToWorker message;
    message.mutable_acknowledge()->set_sequence(sequence);
    streams_.Send(connection, std::move(message));
  }
}

void Controller::DoAfterCommit() {
  for (auto& effect : std::exchange(after_commit_, {})) effect();
}

bool Controller::Ready() {
  if (journal_status_.ok()) return true;
  if (!Flush()) return false;
  Apply(core::HeldUp{});
  while (!held_.empty() && journal_status_.ok()) {
    HeldEvent held = std::move(held_.front());
    held_.pop_front();
    Apply(held.event);
    held.done();
  }
  return journal_status_.ok();
}

// Says so when it changes, not at every attempt.
void Controller::NoteJournal(absl::Status status) {
  if (journal_status_.ok() && !status.ok()) {
    deps_.log(
        absl::LogSeverity::kError,
        absl::StrCat(status.message(),
                     ": submissions are refused and jobs do not change their state until it can "
                     "be written again",
                     absl::IsResourceExhausted(status) ? "; free space where --state-dir is" : ""));
  } else if (!journal_status_.ok() && status.ok()) {
    deps_.log(absl::LogSeverity::kInfo, "the journal can be written again");
  }
  journal_status_ = std::move(status);
}

absl::Status Controller::NothingQueued() const {
  return absl::ResourceExhaustedError(
      absl::StrCat("nothing was queued: ", journal_status_.message()));
}

void Controller::Execute(const core::AppendLogs& effect) {
  const JobId job(effect.log.job_id());
  const uint64_t dropped = deps_.logs.Append(job, effect.log.lines());
  deps_.metrics.log_lines_dropped.Increment(static_cast<double>(dropped));
  // A rank that outlived its job, since it could not be stopped in time, may go on to print.
  const v1::Job* owner = core_.FindJob(job);
  if (owner == nullptr || HasEnded(owner->state())) deps_.logs.Close(job);
  board_.LogsGrew(job);
}

void Controller::Execute(core::SendToWorker effect) {
  streams_.Send(effect.connection, std::move(effect.message));
}

void Controller::Execute(core::CloseWorker effect) {
  streams_.Close(effect.connection, std::move(effect.status));
}

void Controller::Execute(const core::JobChanged& effect) {
  const v1::Job* job = core_.FindJob(effect.job);
  if (job == nullptr) return;
  // Whoever follows them reads to their end when it hears that the job has ended.
  if (HasEnded(job->state())) deps_.logs.Close(effect.job);
  board_.Publish(*job);
}

void Controller::Execute(const core::Log& effect) { deps_.log(effect.severity, effect.text); }

void Controller::Execute(const core::AttemptStarted&) { deps_.metrics.attempts.Increment(); }

void Controller::Execute(const core::RendezvousMeasured& effect) {
  deps_.metrics.ObserveRendezvous(effect.duration);
}

void Controller::Execute(const core::AttemptFailed& effect) {
  deps_.metrics.CountFailure(effect.code);
}

void Controller::Execute(const core::PauseMeasured& effect) {
  deps_.metrics.ObservePause(effect.duration);
}

void Controller::Execute(const core::StepsDone& effect) {
  deps_.metrics.steps.Increment(static_cast<double>(effect.steps));
  deps_.metrics.samples.Increment(static_cast<double>(effect.samples));
}

JobId Controller::NewJobId(const std::string& name) {
  JobId id = MakeJobId(name, random_);
  while (core_.FindJob(id) != nullptr) id = MakeJobId(name, random_);
  return id;
}

}  // namespace tandem::service
