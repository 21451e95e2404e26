#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tandem/v1/job.pb.h"

namespace tandem::client {

// The one job whose id is, or else begins with, `beginning`. Errors as for Connection::Resolve.
absl::StatusOr<std::string> PickJob(const v1::ListJobsResponse& jobs, const std::string& beginning);

}  // namespace tandem::client
