#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/interrupts.h"
#include "tandem/v1/job.grpc.pb.h"

namespace tandem::client {

// The coordinator's JobService, with errors as statuses. For one thread. Besides what job.proto
// says about it, every call may fail with
//   Unavailable  the coordinator does not answer; the message names the address and the remedy.
//   Cancelled    interrupted.
class Connection {
 public:
  struct Options {
    // "HOST:PORT", or what else gRPC takes for an address.
    std::string address = "127.0.0.1:4270";
    absl::Duration connect_timeout = absl::Seconds(2);
    // Where connections are refused, as before the coordinator has started, it is tried again for so
    // long, and `on_retry` hears a line about that. One that does not answer at all is not.
    absl::Duration retry_for = absl::ZeroDuration();
    std::function<void(const std::string&)> on_retry = [](const std::string&) {};
    // Of a call that does not stream.
    absl::Duration call_timeout = absl::Seconds(10);
  };

  //   InvalidArgument  the address is none.
  //   Unavailable      nobody answers there within the times above.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(Options options);

  const std::string& address() const { return options_.address; }

  absl::StatusOr<v1::Job> Submit(const v1::JobSpec& spec);
  absl::StatusOr<v1::Job> Get(const std::string& job_id);
  absl::StatusOr<v1::Job> Cancel(const std::string& job_id);
  absl::StatusOr<v1::Job> Resize(const std::string& job_id, uint32_t min_workers,
                                 uint32_t max_workers);
  absl::StatusOr<v1::Worker> Drain(const std::string& worker, bool undo);
  // All pages as one.
  absl::StatusOr<v1::ListJobsResponse> ListJobs();
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers();
  absl::StatusOr<v1::ListHostsResponse> ListHosts();
  // All pages as one.
  absl::StatusOr<v1::GetHistoryResponse> History(const std::string& job_id);

  // The id that the user means by a unique beginning of it.
  //   NotFound         no job's id begins so.
  //   InvalidArgument  several do; the message lists them.
  absl::StatusOr<std::string> Resolve(const std::string& beginning);

  // What may end a stream early.
  struct StreamLimits {
    Interrupts* interrupts = nullptr;
    int handled = 0;
    absl::Time deadline = absl::InfiniteFuture();
  };

  // Calls `on_job` for each state until the job has ended.
  //   DeadlineExceeded  the limit was reached.
  absl::Status Watch(const std::string& job_id, const StreamLimits& limits,
                     const std::function<void(const v1::Job&)>& on_job);

  // Calls `on_lines` until all lines were read or it returns false.
  absl::Status ReadLogs(const v1::StreamLogsRequest& request, const StreamLimits& limits,
                        const std::function<bool(const v1::StreamLogsResponse&)>& on_lines);

 private:
  Connection(Options options, const std::shared_ptr<grpc::Channel>& channel);

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (v1::JobService::Stub::*method)(grpc::ClientContext*,
                                                                             const Request&,
                                                                             Response*),
                                const Request& request);
  absl::Status ToStatus(const grpc::Status& status) const;
  absl::Status StreamStatus(const grpc::Status& status, const StreamLimits& limits) const;

  const Options options_;
  const std::unique_ptr<v1::JobService::Stub> stub_;
};

}  // namespace tandem::client
