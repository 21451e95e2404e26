#include "client/follow_logs.h"

#include <algorithm>

#include "client/outage.h"

namespace tandem::client {
namespace {

// After a new connection the lines come again from the first: those that were read are passed over.
// The coordinator keeps them in a file that only grows.
class NewLines {
 public:
  void Rewind() { passed_ = 0; }
  v1::StreamLogsResponse Of(v1::StreamLogsResponse response) {
    const auto come = static_cast<uint64_t>(response.lines_size());
    const uint64_t known = std::min(come, read_ - std::min(read_, passed_));
    response.mutable_lines()->DeleteSubrange(0, static_cast<int>(known));
    passed_ += come;
    read_ = std::max(read_, passed_);
    return response;
  }

 private:
  uint64_t read_ = 0;
  uint64_t passed_ = 0;
};

// Until the coordinator that failed so knows the job again. Its stream may have no line for long, which
// would leave open whether it is back.
absl::Status AwaitReturn(Connection* connection, const std::string& job_id, absl::Status failure,
                         Outage* outage) {
  while (absl::IsUnavailable(failure)) {
    absl::Status next = outage->WaitForNextTry(failure);
    if (!next.ok()) return next;
    failure = connection->Get(job_id).status();
  }
  if (failure.ok()) outage->End();
  return failure;
}

}  // namespace

absl::Status FollowLogs(Connection* connection, const v1::StreamLogsRequest& request,
                        const FollowOptions& options,
                        const std::function<bool(const v1::StreamLogsResponse&)>& on_lines,
                        const std::function<void(const std::string&)>& on_trouble) {
  Outage outage(options, connection->address(), on_trouble);
  NewLines lines;
  while (true) {
    lines.Rewind();
    absl::Status read = connection->ReadLogs(
        request, options.limits,
        [&](const v1::StreamLogsResponse& response) { return on_lines(lines.Of(response)); });
    if (!request.follow() || !absl::IsUnavailable(read)) return read;
    absl::Status back = AwaitReturn(connection, request.job_id(), read, &outage);
    if (!back.ok()) return back;
  }
}

}  // namespace tandem::client
