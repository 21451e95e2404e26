#include "client/connection.h"

#include <grpcpp/create_channel.h>

#include <limits>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/pick_job.h"

namespace tandem::client {
namespace {

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  // A proxy for web pages has no business between a client and its coordinator.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // An unanswered attempt to connect is given up after this: later than Open gives up, so that for it
  // only a refusal is a failure.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2500);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  // A stream that only reads would never notice that the coordinator's host has vanished. Pings rarer
  // than any server objects to.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 6 * 60 * 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10 * 1000);
  arguments.SetMaxReceiveMessageSize(std::numeric_limits<int>::max());
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

std::string Retrying(const Connection::Options& options) {
  return absl::StrCat("no coordinator answers at ", options.address, " yet; trying again for ",
                      absl::FormatDuration(options.retry_for));
}

// gRPC's own wait sits through refused connections; a refusal is an answer.
bool Connects(grpc::Channel& channel, const Connection::Options& options) {
  absl::Time deadline = absl::Now() + options.connect_timeout;
  bool retries = false;
  for (auto state = channel.GetState(true); state != GRPC_CHANNEL_READY;
       state = channel.GetState(true)) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE && !retries) {
      if (options.retry_for <= absl::ZeroDuration()) return false;
      options.on_retry(Retrying(options));
      retries = true;
      deadline = absl::Now() + options.retry_for;
    }
    if (!channel.WaitForStateChange(state, absl::ToChronoTime(deadline))) return false;
  }
  return true;
}

absl::Status Unreachable(const std::string& address) {
  return absl::UnavailableError(
      absl::StrCat("no coordinator answers at ", address,
                   ": start tandemd, or name another with --coordinator or TANDEM_COORDINATOR"));
}

absl::Status CheckAddress(const std::string& address) {
  if (absl::StrContains(address, ':') && !absl::StrContains(address, "://")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--coordinator: expected HOST:PORT, found '", address, "'"));
}

// Makes a retried submission the same one.
std::string RandomRequestId() {
  absl::BitGen random;
  return absl::StrFormat("%016x%016x", absl::Uniform<uint64_t>(random),
                         absl::Uniform<uint64_t>(random));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(Options options) {
  const absl::Status address = CheckAddress(options.address);
  if (!address.ok()) return address;
  const auto channel = MakeChannel(options.address);
  if (!Connects(*channel, options)) return Unreachable(options.address);
  return std::unique_ptr<Connection>(new Connection(std::move(options), channel));
}

Connection::Connection(Options options, const std::shared_ptr<grpc::Channel>& channel)
    : options_(std::move(options)), stub_(v1::JobService::NewStub(channel)) {}

template <typename Request, typename Response>
absl::StatusOr<Response> Connection::Call(
    grpc::Status (v1::JobService::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
    const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + options_.call_timeout));
  Response response;
  const absl::Status status = ToStatus(((*stub_).*method)(&context, request, &response));
  if (absl::IsDeadlineExceeded(status)) return Unreachable(options_.address);
  if (!status.ok()) return status;
  return response;
}

absl::Status Connection::ToStatus(const grpc::Status& status) const {
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) return Unreachable(options_.address);
  // Both libraries number their codes alike, as the gRPC protocol does.
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

absl::Status Connection::StreamStatus(const grpc::Status& status,
                                      const StreamLimits& limits) const {
  if (status.error_code() != grpc::StatusCode::CANCELLED) return ToStatus(status);
  // A coordinator that stops cancels its streams; only an interrupt makes a cancellation ours.
  const bool ours = limits.interrupts->count() > limits.handled;
  return ours ? absl::CancelledError("interrupted") : Unreachable(options_.address);
}

absl::StatusOr<v1::Job> Connection::Submit(const v1::JobSpec& spec) {
  v1::SubmitJobRequest request;
  *request.mutable_spec() = spec;
  request.set_request_id(RandomRequestId());
  auto response = Call(&v1::JobService::Stub::SubmitJob, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_job());
}

absl::StatusOr<v1::Job> Connection::Get(const std::string& job_id) {
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  auto response = Call(&v1::JobService::Stub::GetJob, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_job());
}

absl::StatusOr<v1::Job> Connection::Cancel(const std::string& job_id) {
  v1::CancelJobRequest request;
  request.set_job_id(job_id);
  auto response = Call(&v1::JobService::Stub::CancelJob, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_job());
}

absl::StatusOr<v1::ListJobsResponse> Connection::ListJobs() {
  v1::ListJobsResponse jobs;
  v1::ListJobsRequest request;
  do {
    auto page = Call(&v1::JobService::Stub::ListJobs, request);
    if (!page.ok()) return page.status();
    request.set_page_token(page->next_page_token());
    jobs.MergeFrom(*page);
  } while (!request.page_token().empty());
  jobs.clear_next_page_token();
  return jobs;
}

absl::StatusOr<v1::Job> Connection::Resize(const std::string& job_id, uint32_t min_workers,
                                           uint32_t max_workers) {
  v1::ResizeJobRequest request;
  request.set_job_id(job_id);
  request.set_min_workers(min_workers);
  request.set_max_workers(max_workers);
  auto response = Call(&v1::JobService::Stub::ResizeJob, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_job());
}

absl::StatusOr<v1::Worker> Connection::Drain(const std::string& worker, bool undo) {
  v1::DrainWorkerRequest request;
  request.set_worker(worker);
  request.set_undo(undo);
  auto response = Call(&v1::JobService::Stub::DrainWorker, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_worker());
}

absl::StatusOr<v1::ListWorkersResponse> Connection::ListWorkers() {
  return Call(&v1::JobService::Stub::ListWorkers, v1::ListWorkersRequest());
}

absl::StatusOr<v1::ListHostsResponse> Connection::ListHosts() {
  return Call(&v1::JobService::Stub::ListHosts, v1::ListHostsRequest());
}

absl::StatusOr<v1::GetHistoryResponse> Connection::History(const std::string& job_id) {
  v1::GetHistoryResponse history;
  v1::GetHistoryRequest request;
  request.set_job_id(job_id);
  do {
    auto page = Call(&v1::JobService::Stub::GetHistory, request);
    if (!page.ok()) return page.status();
    request.set_from_step(page->next_step());
    history.MergeFrom(*page);
  } while (request.from_step() != 0);
  history.clear_next_step();
  return history;
}

absl::StatusOr<std::string> Connection::Resolve(const std::string& beginning) {
  const auto jobs = ListJobs();
  if (!jobs.ok()) return jobs.status();
  return PickJob(*jobs, beginning);
}

absl::Status Connection::Watch(const std::string& job_id, const StreamLimits& limits,
                               const std::function<void(const v1::Job&)>& on_job) {
  v1::WatchJobRequest request;
  request.set_job_id(job_id);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(limits.deadline));
  const InterruptibleCall call(limits.interrupts, limits.handled, &context);
  const auto reader = stub_->WatchJob(&context, request);
  v1::WatchJobResponse response;
  while (reader->Read(&response)) on_job(response.job());
  return StreamStatus(reader->Finish(), limits);
}

absl::Status Connection::ReadLogs(
    const v1::StreamLogsRequest& request, const StreamLimits& limits,
    const std::function<bool(const v1::StreamLogsResponse&)>& on_lines) {
  grpc::ClientContext context;
  const InterruptibleCall call(limits.interrupts, limits.handled, &context);
  const auto reader = stub_->StreamLogs(&context, request);
  v1::StreamLogsResponse response;
  while (reader->Read(&response)) {
    if (on_lines(response)) continue;
    context.TryCancel();
    reader->Finish();
    return absl::OkStatus();
  }
  return StreamStatus(reader->Finish(), limits);
}

}  // namespace tandem::client
