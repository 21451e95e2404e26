#include "server/service/log_reactor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job_state.h"
#include "server/service/grpc_status.h"

namespace tandem::service {

LogReactor::LogReactor(EventLoop& loop, JobBoard& board, const store::LogStore& logs,
                       v1::StreamLogsRequest request)
    : loop_(loop),
      board_(board),
      logs_(logs),
      request_(std::move(request)),
      job_(request_.job_id()) {
  loop_.Post([this] {
    if (board_.Watch(job_, this)) return;
    End({grpc::StatusCode::NOT_FOUND, absl::StrCat("there is no job ", job_.value())});
  });
}

// A rank's exit is the last that its agent says about it, so an ended job has no line on its way;
// only those of a rank that outlived it come later, and are for the next reader.
void LogReactor::OnJob(JobSnapshot job) {
  absl::MutexLock lock(&mutex_);
  complete_ = HasEnded(job->state());
  Proceed();
}

void LogReactor::OnLogs() {
  absl::MutexLock lock(&mutex_);
  Proceed();
}

void LogReactor::OnShutdown() {
  End({grpc::StatusCode::UNAVAILABLE, "the coordinator is stopping"});
}

void LogReactor::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  if (!ok && !end_.has_value()) end_ = grpc::Status::CANCELLED;
  Proceed();
}

// The loop's pointer to this goes first, then the object.
void LogReactor::OnDone() {
  loop_.Post([this] {
    board_.Unwatch(job_, this);
    delete this;
  });
}

void LogReactor::End(grpc::Status status) {
  absl::MutexLock lock(&mutex_);
  if (!end_.has_value()) end_ = std::move(status);
  Proceed();
}

void LogReactor::Proceed() {
  if (writing_ || finished_) return;
  if (!end_.has_value() && !turn_due_) FillNext();
  if (end_.has_value()) {
    finished_ = true;
    Finish(*end_);
  } else if (sending_.lines_size() > 0) {
    writing_ = true;
    StartWrite(&sending_);
  }
}

void LogReactor::FillNext() {
  sending_.clear_lines();
  absl::StatusOr<store::LogPage> page = logs_.Read(job_, offset_);
  if (!page.ok()) {
    end_ = ToGrpc(page.status());
    return;
  }
  const bool nothing_left = page->next_offset == offset_;
  offset_ = page->next_offset;
  for (v1::LogLine& line : page->lines) {
    if (Wanted(line)) *sending_.add_lines() = std::move(line);
  }
  if (nothing_left && (complete_ || !request_.follow())) end_ = grpc::Status::OK;
  if (!nothing_left && sending_.lines().empty()) ReadOnLater();
}

// What was posted meanwhile goes first.
void LogReactor::ReadOnLater() {
  turn_due_ = true;
  loop_.Post([this] {
    absl::MutexLock lock(&mutex_);
    turn_due_ = false;
    Proceed();
  });
}

bool LogReactor::Wanted(const v1::LogLine& line) const {
  return !request_.has_rank() || line.rank() == request_.rank();
}

}  // namespace tandem::service
