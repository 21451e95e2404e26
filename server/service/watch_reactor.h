#pragma once

#include <grpcpp/grpcpp.h>

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/service/event_loop.h"
#include "server/service/job_board.h"
#include "tandem/v1/job.pb.h"

namespace tandem::service {

// One WatchJob call. Holds the latest snapshot only: a slow reader skips what it replaced.
//
// Lives until gRPC is done with it and the loop has let go of it.
class WatchReactor : public grpc::ServerWriteReactor<v1::WatchJobResponse>, public JobWatcher {
 public:
  WatchReactor(EventLoop& loop, JobBoard& board, JobId job);

  void OnJob(JobSnapshot job) override;
  void OnLogs() override {}
  void OnShutdown() override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override;

 private:
  // Ends the call as soon as no write is under way. The first status counts.
  void End(grpc::Status status);
  // Does what is due next, if anything.
  void Proceed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  EventLoop& loop_;
  JobBoard& board_;
  const JobId job_;

  absl::Mutex mutex_;
  // Not yet sent; null: nothing new.
  JobSnapshot next_ ABSL_GUARDED_BY(mutex_);
  v1::WatchJobResponse sending_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tandem::service
