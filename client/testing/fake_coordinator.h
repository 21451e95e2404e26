#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "grpcpp/server.h"
#include "tandem/v1/job.grpc.pb.h"

namespace tandem::client {

// A coordinator that answers what a test has written down, on a port of its own. Everything is to
// be set before the first call.
class FakeCoordinator : public v1::JobService::Service {
 public:
  // What one call of WatchJob does: sends the jobs, then ends so, or waits for the client to leave.
  struct WatchScript {
    std::vector<v1::Job> jobs;
    grpc::Status end = grpc::Status::OK;
    bool waits_for_client = false;
  };

  // On a port that the system chooses, or on this one.
  explicit FakeCoordinator(int port = 0);
  ~FakeCoordinator() override;

  std::string address() const;
  // The requests of SubmitJob, CancelJob, ResizeJob and DrainWorker that came.
  std::vector<v1::SubmitJobRequest> submitted() const;
  std::vector<std::string> cancelled() const;
  std::vector<v1::ResizeJobRequest> resized() const;
  std::vector<v1::DrainWorkerRequest> drained() const;

  // GetJob, ListJobs, CancelJob and ResizeJob know these.
  std::vector<v1::Job> jobs;
  // A page of ListJobs has at most so many.
  size_t jobs_page = 1000;
  // SubmitJob answers with this status.
  grpc::Status submit_status = grpc::Status::OK;
  std::deque<WatchScript> watches;
  std::vector<v1::LogLine> logs;
  // StreamLogs stays open after them until the client leaves.
  bool logs_wait_for_client = false;
  // How the next calls of StreamLogs end, after how many of the lines; all others well, after all.
  struct LogScript {
    size_t lines = 0;
    grpc::Status end;
  };
  std::deque<LogScript> log_scripts;
  std::vector<v1::StepSample> samples;
  // DrainWorker and ListWorkers know these.
  std::vector<v1::Worker> workers;
  // How the next calls of ListWorkers end. With one that ends well, all slots become free.
  std::deque<grpc::Status> worker_lists;

 private:
  grpc::Status SubmitJob(grpc::ServerContext*, const v1::SubmitJobRequest*,
                         v1::SubmitJobResponse*) override;
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest*, v1::GetJobResponse*) override;
  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest*,
                        v1::ListJobsResponse*) override;
  grpc::Status CancelJob(grpc::ServerContext*, const v1::CancelJobRequest*,
                         v1::CancelJobResponse*) override;
  grpc::Status WatchJob(grpc::ServerContext*, const v1::WatchJobRequest*,
                        grpc::ServerWriter<v1::WatchJobResponse>*) override;
  grpc::Status StreamLogs(grpc::ServerContext*, const v1::StreamLogsRequest*,
                          grpc::ServerWriter<v1::StreamLogsResponse>*) override;
  grpc::Status GetHistory(grpc::ServerContext*, const v1::GetHistoryRequest*,
                          v1::GetHistoryResponse*) override;
  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                           v1::ListWorkersResponse*) override;
  grpc::Status ResizeJob(grpc::ServerContext*, const v1::ResizeJobRequest*,
                         v1::ResizeJobResponse*) override;
  grpc::Status DrainWorker(grpc::ServerContext*, const v1::DrainWorkerRequest*,
                           v1::DrainWorkerResponse*) override;

  mutable absl::Mutex mutex_;
  std::vector<v1::SubmitJobRequest> submitted_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> cancelled_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::ResizeJobRequest> resized_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::DrainWorkerRequest> drained_ ABSL_GUARDED_BY(mutex_);
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

v1::Job MakeJob(const std::string& id, v1::JobState state);

}  // namespace tandem::client
