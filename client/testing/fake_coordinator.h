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

  FakeCoordinator();
  ~FakeCoordinator() override;

  std::string address() const;
  // The requests of SubmitJob and CancelJob that came.
  std::vector<v1::SubmitJobRequest> submitted() const;
  std::vector<std::string> cancelled() const;

  // GetJob, ListJobs and CancelJob know these.
  std::vector<v1::Job> jobs;
  // SubmitJob answers with this status.
  grpc::Status submit_status = grpc::Status::OK;
  std::deque<WatchScript> watches;
  std::vector<v1::LogLine> logs;
  // StreamLogs stays open after them until the client leaves.
  bool logs_wait_for_client = false;
  std::vector<v1::StepSample> samples;
  std::vector<v1::Worker> workers;

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

  mutable absl::Mutex mutex_;
  std::vector<v1::SubmitJobRequest> submitted_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> cancelled_ ABSL_GUARDED_BY(mutex_);
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

v1::Job MakeJob(const std::string& id, v1::JobState state);

}  // namespace tandem::client
