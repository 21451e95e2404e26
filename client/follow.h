#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "client/connection.h"
#include "common/backoff.h"

namespace tandem::client {

struct FollowOptions {
  Connection::StreamLimits limits;
  // How long a coordinator that went away is waited for, each time it does; zero: not at all.
  absl::Duration patience = absl::Seconds(60);
  Backoff::Policy backoff;
};

// Watches a job to its end, across restarts of the coordinator. `on_trouble` hears a line when the
// coordinator goes away, and one when it is back.
//   Cancelled         interrupted.
//   DeadlineExceeded  limits.deadline has passed.
//   Unavailable       the coordinator stayed away for longer than the patience.
//   NotFound          no such job.
absl::StatusOr<v1::Job> Follow(Connection* connection, const std::string& job_id,
                               const FollowOptions& options,
                               const std::function<void(const v1::Job&)>& on_job,
                               const std::function<void(const std::string&)>& on_trouble);

// The error of a command that was interrupted while it followed a job.
absl::Status StoppedFollowing(const std::string& job_id);

}  // namespace tandem::client
