#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "client/connection.h"
#include "client/follow.h"

namespace tandem::client {

// Reads what the ranks of a job print, each line once; with `request.follow` also across restarts of
// the coordinator, until all lines of a job that has ended were read. `on_lines` returns whether it
// wants more; `on_trouble` is as for Follow.
// Errors as for Follow.
absl::Status FollowLogs(Connection* connection, const v1::StreamLogsRequest& request,
                        const FollowOptions& options,
                        const std::function<bool(const v1::StreamLogsResponse&)>& on_lines,
                        const std::function<void(const std::string&)>& on_trouble);

}  // namespace tandem::client
