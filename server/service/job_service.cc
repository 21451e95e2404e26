#include "server/service/job_service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/spec/paths.h"
#include "common/spec/spec.h"
#include "common/version.h"
#include "server/service/grpc_status.h"
#include "server/service/log_reactor.h"
#include "server/service/watch_reactor.h"

namespace tandem::service {
namespace {

grpc::Status NoSuchJob(const std::string& id) {
  return {grpc::StatusCode::NOT_FOUND, absl::StrCat("there is no job ", id)};
}

// Fills the response's job from what the controller answered.
template <typename Response>
grpc::Status Reply(const absl::StatusOr<JobSnapshot>& job, Response* response) {
  if (job.ok()) *response->mutable_job() = **job;
  return ToGrpc(job.status());
}

// A list of many jobs has to fit in a message.
void KeepShortProgram(const v1::Command& command, v1::Job* listed) {
  constexpr size_t kMostBytes = 256;
  v1::Command program;
  *program.mutable_argv() = command.argv();
  if (program.ByteSizeLong() > kMostBytes) return;
  *listed->mutable_spec()->mutable_command() = std::move(program);
}

// What a list shows of a job.
void Summarize(const v1::Job& job, v1::Job* listed) {
  *listed = job;
  listed->clear_spec();
  listed->clear_ranks();
  listed->clear_attempts();
  if (listed->has_cause()) listed->mutable_cause()->clear_last_lines();
  if (job.spec().has_command()) KeepShortProgram(job.spec().command(), listed);
}

bool Wanted(const v1::ListJobsRequest& request, v1::JobState state) {
  const auto& states = request.states();
  return states.empty() || std::find(states.begin(), states.end(), state) != states.end();
}

void FillPage(const std::vector<JobBoard::Numbered>& jobs, const v1::ListJobsRequest& request,
              v1::ListJobsResponse* response) {
  const uint32_t asked = request.page_size() == 0 ? JobService::kMaxJobsPage : request.page_size();
  const auto limit = static_cast<int>(std::min(asked, JobService::kMaxJobsPage));
  uint64_t last = 0;
  for (const JobBoard::Numbered& numbered : jobs) {
    if (!Wanted(request, numbered.job->state())) continue;
    if (response->jobs_size() == limit) return response->set_next_page_token(absl::StrCat(last));
    Summarize(*numbered.job, response->add_jobs());
    last = numbered.number;
  }
}

}  // namespace

grpc::ServerUnaryReactor* JobService::SubmitJob(grpc::CallbackServerContext* context,
                                                const v1::SubmitJobRequest* request,
                                                v1::SubmitJobResponse* response) {
  auto* reactor = context->DefaultReactor();
  absl::Status status = spec::Validate(request->spec());
  status.Update(spec::CheckPathsAreAbsolute(request->spec()));
  if (!status.ok()) {
    reactor->Finish(ToGrpc(status));
    return reactor;
  }
  v1::JobSpec filled = request->spec();
  spec::FillDefaults(&filled);
  loop_.Post([this, reactor, request, response, filled = std::move(filled)]() mutable {
    reactor->Finish(Reply(controller_.Submit(std::move(filled), request->request_id()), response));
  });
  return reactor;
}

grpc::ServerUnaryReactor* JobService::GetJob(grpc::CallbackServerContext* context,
                                             const v1::GetJobRequest* request,
                                             v1::GetJobResponse* response) {
  auto* reactor = context->DefaultReactor();
  loop_.Post([this, reactor, request, response] {
    const JobSnapshot job = controller_.board().Find(JobId(request->job_id()));
    if (job != nullptr) *response->mutable_job() = *job;
    reactor->Finish(job == nullptr ? NoSuchJob(request->job_id()) : grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* JobService::ListJobs(grpc::CallbackServerContext* context,
                                               const v1::ListJobsRequest* request,
                                               v1::ListJobsResponse* response) {
  auto* reactor = context->DefaultReactor();
  loop_.Post([this, reactor, request, response] {
    uint64_t before = JobBoard::kNewest;
    if (!request->page_token().empty() && !absl::SimpleAtoi(request->page_token(), &before)) {
      return reactor->Finish(
          {grpc::StatusCode::INVALID_ARGUMENT, "page_token: is not one that came with a page"});
    }
    FillPage(controller_.board().NewestFirst(before), *request, response);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* JobService::CancelJob(grpc::CallbackServerContext* context,
                                                const v1::CancelJobRequest* request,
                                                v1::CancelJobResponse* response) {
  auto* reactor = context->DefaultReactor();
  loop_.Post([this, reactor, request, response] {
    reactor->Finish(Reply(controller_.Cancel(JobId(request->job_id())), response));
  });
  return reactor;
}

grpc::ServerWriteReactor<v1::WatchJobResponse>* JobService::WatchJob(
    grpc::CallbackServerContext*, const v1::WatchJobRequest* request) {
  return new WatchReactor(loop_, controller_.board(), JobId(request->job_id()));
}

grpc::ServerWriteReactor<v1::StreamLogsResponse>* JobService::StreamLogs(
    grpc::CallbackServerContext*, const v1::StreamLogsRequest* request) {
  return new LogReactor(loop_, controller_.board(), logs_, *request);
}

grpc::ServerUnaryReactor* JobService::GetHistory(grpc::CallbackServerContext* context,
                                                 const v1::GetHistoryRequest* request,
                                                 v1::GetHistoryResponse* response) {
  auto* reactor = context->DefaultReactor();
  loop_.Post([this, reactor, request, response] {
    const uint32_t asked = request->page_size() == 0 ? kMaxHistoryPage : request->page_size();
    absl::StatusOr<v1::GetHistoryResponse> page = controller_.ReadHistory(
        JobId(request->job_id()), request->from_step(), std::min(asked, kMaxHistoryPage));
    if (page.ok()) *response = *std::move(page);
    reactor->Finish(ToGrpc(page.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* JobService::ResizeJob(grpc::CallbackServerContext* context,
                                                const v1::ResizeJobRequest* request,
                                                v1::ResizeJobResponse* response) {
  auto* reactor = context->DefaultReactor();
  loop_.Post([this, reactor, request, response] {
    reactor->Finish(Reply(controller_.Resize(JobId(request->job_id()), request->min_workers(),
                                             request->max_workers()),
                          response));
  });
  return reactor;
}

grpc::ServerUnaryReactor* JobService::DrainWorker(grpc::CallbackServerContext* context,
                                                  const v1::DrainWorkerRequest* request,
                                                  v1::DrainWorkerResponse* response) {
  auto* reactor = context->DefaultReactor();
  loop_.Post([this, reactor, request, response] {
    absl::StatusOr<v1::Worker> worker =
        controller_.Drain(WorkerName(request->worker()), request->undo());
    if (worker.ok()) *response->mutable_worker() = *std::move(worker);
    reactor->Finish(ToGrpc(worker.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* JobService::ListWorkers(grpc::CallbackServerContext* context,
                                                  const v1::ListWorkersRequest*,
                                                  v1::ListWorkersResponse* response) {
  auto* reactor = context->DefaultReactor();
  loop_.Post([this, reactor, response] {
    for (v1::Worker& worker : controller_.Workers()) *response->add_workers() = std::move(worker);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* JobService::ListHosts(grpc::CallbackServerContext* context,
                                                const v1::ListHostsRequest*,
                                                v1::ListHostsResponse* response) {
  auto* reactor = context->DefaultReactor();
  response->set_version(kVersion);
  loop_.Post([this, reactor, response] {
    for (v1::WorkerHost& host : controller_.Hosts()) *response->add_hosts() = std::move(host);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

}  // namespace tandem::service
