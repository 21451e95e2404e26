#include "server/service/watch_reactor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job_state.h"

namespace tandem::service {

WatchReactor::WatchReactor(EventLoop& loop, JobBoard& board, JobId job)
    : loop_(loop), board_(board), job_(std::move(job)) {
  loop_.Post([this] {
    if (board_.Watch(job_, this)) return;
    End({grpc::StatusCode::NOT_FOUND, absl::StrCat("there is no job ", job_.value())});
  });
}

void WatchReactor::OnJob(JobSnapshot job) {
  absl::MutexLock lock(&mutex_);
  next_ = std::move(job);
  Proceed();
}

void WatchReactor::OnShutdown() {
  End({grpc::StatusCode::UNAVAILABLE, "the coordinator is stopping"});
}

void WatchReactor::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  if (!ok && !end_.has_value()) end_ = grpc::Status::CANCELLED;
  Proceed();
}

// The loop's pointer to this goes first, then the object.
void WatchReactor::OnDone() {
  loop_.Post([this] {
    board_.Unwatch(job_, this);
    delete this;
  });
}

void WatchReactor::End(grpc::Status status) {
  absl::MutexLock lock(&mutex_);
  if (!end_.has_value()) end_ = std::move(status);
  Proceed();
}

void WatchReactor::Proceed() {
  if (writing_ || finished_) return;
  const bool sent_final = next_ == nullptr && HasEnded(sending_.job().state());
  if (end_.has_value() || sent_final) {
    finished_ = true;
    Finish(end_.value_or(grpc::Status::OK));
  } else if (next_ != nullptr) {
    *sending_.mutable_job() = *std::exchange(next_, nullptr);
    writing_ = true;
    StartWrite(&sending_);
  }
}

}  // namespace tandem::service
