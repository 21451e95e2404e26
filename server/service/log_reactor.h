#pragma once

#include <grpcpp/grpcpp.h>

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/service/event_loop.h"
#include "server/service/job_board.h"
#include "server/store/log_store.h"
#include "tandem/v1/job.pb.h"

namespace tandem::service {

// One StreamLogs call. Reads a page of the log when the one before it is sent, so it never holds
// more, and at most one at a time, so it never holds up the loop.
//
// Lives until gRPC is done with it and the loop has let go of it.
class LogReactor : public grpc::ServerWriteReactor<v1::StreamLogsResponse>, public JobWatcher {
 public:
  LogReactor(EventLoop& loop, JobBoard& board, const store::LogStore& logs,
             v1::StreamLogsRequest request);

  void OnJob(JobSnapshot job) override;
  void OnLogs() override;
  void OnShutdown() override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override;

 private:
  // Ends the call as soon as no write is under way. The first status counts.
  void End(grpc::Status status);
  // Does what is due next, if anything.
  void Proceed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads one page. Where no line of it is wanted, decides what then: the end, or a turn to come.
  void FillNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadOnLater() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Wanted(const v1::LogLine& line) const;

  EventLoop& loop_;
  JobBoard& board_;
  const store::LogStore& logs_;
  const v1::StreamLogsRequest request_;
  const JobId job_;

  absl::Mutex mutex_;
  uint64_t offset_ ABSL_GUARDED_BY(mutex_) = 0;
  // Everything the job will ever say is in the log.
  bool complete_ ABSL_GUARDED_BY(mutex_) = false;
  v1::StreamLogsResponse sending_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // A turn of the loop that will read on is posted.
  bool turn_due_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tandem::service
