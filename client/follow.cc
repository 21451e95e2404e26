#include "client/follow.h"

#include "absl/strings/str_cat.h"
#include "client/outage.h"
#include "common/job_state.h"

namespace tandem::client {

absl::Status StoppedFollowing(const std::string& job_id) {
  return absl::CancelledError(
      absl::StrCat("interrupted; ", job_id, " goes on (tandem cancel ", job_id, " stops it)"));
}

absl::StatusOr<v1::Job> Follow(Connection* connection, const std::string& job_id,
                               const FollowOptions& options,
                               const std::function<void(const v1::Job&)>& on_job,
                               const std::function<void(const std::string&)>& on_trouble) {
  Outage outage(options, connection->address(), on_trouble);
  while (true) {
    v1::Job latest;
    absl::Status status = connection->Watch(job_id, options.limits, [&](const v1::Job& job) {
      outage.End();
      latest = job;
      on_job(job);
    });
    if (HasEnded(latest.state())) return latest;
    // A stream that ends well before its job does was closed by a coordinator on its way out.
    if (status.ok()) status = absl::UnavailableError("the coordinator closed the stream");
    if (!absl::IsUnavailable(status)) return status;
    const absl::Status next = outage.WaitForNextTry(status);
    if (!next.ok()) return next;
  }
}

}  // namespace tandem::client
