#pragma once

#include "absl/status/status.h"
#include "tandem/v1/job.pb.h"

namespace tandem::client {

// What scripts are told. Part of the interface: see `tandem --help`.
enum class ExitCode {
  kSuccess = 0,
  // The job failed or was cancelled; runs that were compared are different; doctor found a problem.
  kJobFailed = 1,
  // The command line or the specification is wrong, or there is no such job.
  kUsage = 2,
  // The coordinator does not answer, or cannot do its work.
  kUnreachable = 3,
  // `wait --timeout` ran out. The number that timeout(1) uses.
  kTimedOut = 124,
  // Ctrl-C: the number that shells use.
  kInterrupted = 130,
};

ExitCode ExitCodeOf(const absl::Status& status);
// Of a job that has ended.
ExitCode ExitCodeOf(v1::JobState state);

}  // namespace tandem::client
