#include "client/exit_code.h"

namespace tandem::client {

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kSuccess;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
      return ExitCode::kUsage;
    case absl::StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kUnreachable;
  }
}

ExitCode ExitCodeOf(v1::JobState state) {
  return state == v1::JOB_STATE_SUCCEEDED ? ExitCode::kSuccess : ExitCode::kJobFailed;
}

}  // namespace tandem::client
