#include "client/testing/fake_coordinator.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "grpcpp/server_builder.h"

namespace tandem::client {
namespace {

constexpr uint64_t kHistoryPage = 2;

void AwaitLeaving(const grpc::ServerContext& context) {
  const absl::Notification never;
  while (!context.IsCancelled()) never.WaitForNotificationWithTimeout(absl::Milliseconds(1));
}

}  // namespace

FakeCoordinator::FakeCoordinator() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

FakeCoordinator::~FakeCoordinator() { server_->Shutdown(std::chrono::system_clock::now()); }

std::string FakeCoordinator::address() const { return absl::StrCat("127.0.0.1:", port_); }

std::vector<v1::SubmitJobRequest> FakeCoordinator::submitted() const {
  absl::MutexLock lock(&mutex_);
  return submitted_;
}

std::vector<std::string> FakeCoordinator::cancelled() const {
  absl::MutexLock lock(&mutex_);
  return cancelled_;
}

grpc::Status FakeCoordinator::SubmitJob(grpc::ServerContext*, const v1::SubmitJobRequest* request,
                                        v1::SubmitJobResponse* response) {
  absl::MutexLock lock(&mutex_);
  submitted_.push_back(*request);
  *response->mutable_job() = MakeJob("digits-1", v1::JOB_STATE_QUEUED);
  return submit_status;
}

grpc::Status FakeCoordinator::GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                                     v1::GetJobResponse* response) {
  for (const v1::Job& job : jobs) {
    if (job.id() == request->job_id()) *response->mutable_job() = job;
  }
  return response->has_job() ? grpc::Status::OK
                             : grpc::Status(grpc::StatusCode::NOT_FOUND, "no such job");
}

grpc::Status FakeCoordinator::ListJobs(grpc::ServerContext*, const v1::ListJobsRequest*,
                                       v1::ListJobsResponse* response) {
  for (const v1::Job& job : jobs) *response->add_jobs() = job;
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::CancelJob(grpc::ServerContext*, const v1::CancelJobRequest* request,
                                        v1::CancelJobResponse* response) {
  absl::MutexLock lock(&mutex_);
  cancelled_.push_back(request->job_id());
  *response->mutable_job() = MakeJob(request->job_id(), v1::JOB_STATE_CANCELLING);
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::WatchJob(grpc::ServerContext* context, const v1::WatchJobRequest*,
                                       grpc::ServerWriter<v1::WatchJobResponse>* writer) {
  WatchScript script;
  {
    absl::MutexLock lock(&mutex_);
    if (watches.empty()) return {grpc::StatusCode::NOT_FOUND, "no script is left"};
    script = watches.front();
    watches.pop_front();
  }
  for (const v1::Job& job : script.jobs) {
    v1::WatchJobResponse response;
    *response.mutable_job() = job;
    writer->Write(response);
  }
  if (script.waits_for_client) AwaitLeaving(*context);
  return script.end;
}

grpc::Status FakeCoordinator::StreamLogs(grpc::ServerContext* context,
                                         const v1::StreamLogsRequest* request,
                                         grpc::ServerWriter<v1::StreamLogsResponse>* writer) {
  for (const v1::LogLine& line : logs) {
    if (request->has_rank() && request->rank() != line.rank()) continue;
    v1::StreamLogsResponse response;
    *response.add_lines() = line;
    writer->Write(response);
  }
  if (logs_wait_for_client) AwaitLeaving(*context);
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::GetHistory(grpc::ServerContext*, const v1::GetHistoryRequest* request,
                                         v1::GetHistoryResponse* response) {
  const uint64_t first = std::max<uint64_t>(1, request->from_step());
  for (uint64_t step = first; step < first + kHistoryPage && step <= samples.size(); ++step) {
    *response->add_samples() = samples[step - 1];
  }
  const uint64_t next = first + kHistoryPage;
  response->set_next_step(next <= samples.size() ? next : 0);
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                                          v1::ListWorkersResponse* response) {
  for (const v1::Worker& worker : workers) *response->add_workers() = worker;
  return grpc::Status::OK;
}

v1::Job MakeJob(const std::string& id, v1::JobState state) {
  v1::Job job;
  job.set_id(id);
  job.set_name("digits");
  job.set_state(state);
  return job;
}

}  // namespace tandem::client
