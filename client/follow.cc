#include "client/follow.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/job_state.h"

namespace tandem::client {
namespace {

// Since when the coordinator has been away, and what the user was told about it.
class Outage {
 public:
  Outage(const FollowOptions& options, const std::string& address,
         const std::function<void(const std::string&)>& on_trouble)
      : options_(options), address_(address), on_trouble_(on_trouble), backoff_(options.backoff) {}

  // The coordinator has answered.
  void End() {
    if (!began_) return;
    on_trouble_(absl::StrCat("the coordinator at ", address_, " is back"));
    began_.reset();
    backoff_.Reset();
  }

  // Waits for the time of the next try.
  //   Unavailable, DeadlineExceeded, Cancelled  there is to be none.
  absl::Status WaitForNextTry(const absl::Status& failure) {
    const absl::Time now = absl::Now();
    if (!began_ && options_.patience > absl::ZeroDuration()) {
      on_trouble_(absl::StrCat("the coordinator at ", address_,
                               " does not answer; trying again for ",
                               absl::FormatDuration(options_.patience)));
    }
    began_ = began_.value_or(now);
    if (now >= *began_ + options_.patience) return failure;
    if (now >= options_.limits.deadline) return absl::DeadlineExceededError("no answer in time");
    const absl::Duration delay = std::min(backoff_.Next(), options_.limits.deadline - now);
    const bool interrupted = options_.limits.interrupts->WaitFor(delay, options_.limits.handled);
    return interrupted ? absl::CancelledError("interrupted") : absl::OkStatus();
  }

 private:
  const FollowOptions& options_;
  const std::string& address_;
  const std::function<void(const std::string&)>& on_trouble_;
  Backoff backoff_;
  std::optional<absl::Time> began_;
};

}  // namespace

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
