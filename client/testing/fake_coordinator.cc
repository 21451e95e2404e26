#include "client/testing/fake_coordinator.h"

#include <algorithm>

#include "absl/strings/numbers.h"
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

void FreeSlots(v1::Worker* worker) {
  for (v1::SlotStatus& slot : *worker->mutable_slots()) slot.clear_job_id();
}

}  // namespace

FakeCoordinator::FakeCoordinator(int port) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials(),
                           &port_);
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

std::vector<v1::ResizeJobRequest> FakeCoordinator::resized() const {
  absl::MutexLock lock(&mutex_);
  return resized_;
}

std::vector<v1::DrainWorkerRequest> FakeCoordinator::drained() const {
  absl::MutexLock lock(&mutex_);
  return drained_;
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

grpc::Status FakeCoordinator::ListJobs(grpc::ServerContext*, const v1::ListJobsRequest* request,
                                       v1::ListJobsResponse* response) {
  size_t first = 0;
  if (!request->page_token().empty() && !absl::SimpleAtoi(request->page_token(), &first)) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "page_token"};
  }
  const size_t end = std::min(jobs.size(), first + jobs_page);
  for (size_t i = first; i < end; ++i) *response->add_jobs() = jobs[i];
  if (end < jobs.size()) response->set_next_page_token(absl::StrCat(end));
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
  LogScript script = {logs.size(), grpc::Status::OK};
  {
    absl::MutexLock lock(&mutex_);
    if (!log_scripts.empty()) {
      script = log_scripts.front();
      log_scripts.pop_front();
    }
  }
  for (size_t i = 0; i < script.lines; ++i) {
    if (request->has_rank() && request->rank() != logs[i].rank()) continue;
    v1::StreamLogsResponse response;
    *response.add_lines() = logs[i];
    writer->Write(response);
  }
  if (logs_wait_for_client) AwaitLeaving(*context);
  return script.end;
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
  absl::MutexLock lock(&mutex_);
  if (!worker_lists.empty()) {
    grpc::Status end = worker_lists.front();
    worker_lists.pop_front();
    if (!end.ok()) return end;
    for (v1::Worker& worker : workers) FreeSlots(&worker);
  }
  for (const v1::Worker& worker : workers) *response->add_workers() = worker;
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::ResizeJob(grpc::ServerContext*, const v1::ResizeJobRequest* request,
                                        v1::ResizeJobResponse* response) {
  absl::MutexLock lock(&mutex_);
  resized_.push_back(*request);
  for (const v1::Job& job : jobs) {
    if (job.id() != request->job_id()) continue;
    *response->mutable_job() = job;
    response->mutable_job()->set_resized_min(request->min_workers());
    response->mutable_job()->set_resized_max(request->max_workers());
    return grpc::Status::OK;
  }
  return {grpc::StatusCode::NOT_FOUND, "no such job"};
}

grpc::Status FakeCoordinator::DrainWorker(grpc::ServerContext*,
                                          const v1::DrainWorkerRequest* request,
                                          v1::DrainWorkerResponse* response) {
  absl::MutexLock lock(&mutex_);
  drained_.push_back(*request);
  for (v1::Worker& worker : workers) {
    if (worker.name() != request->worker()) continue;
    worker.set_draining(!request->undo());
    *response->mutable_worker() = worker;
    return grpc::Status::OK;
  }
  return {grpc::StatusCode::NOT_FOUND, "no such worker"};
}

v1::Job MakeJob(const std::string& id, v1::JobState state) {
  v1::Job job;
  job.set_id(id);
  job.set_name("digits");
  job.set_state(state);
  return job;
}

}  // namespace tandem::client
