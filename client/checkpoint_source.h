#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/context.h"
#include "tandem/v1/job.pb.h"

namespace tandem::client {

// Where a checkpoint is that was named on the command line.
struct CheckpointSource {
  std::string path;            // absolute; a file, or a folder of which the newest is meant
  std::optional<v1::Job> job;  // whose folder it is, where a job was named
};

// `text` is a path where it has a '/' or is the name of something here; else it is a job, or a beginning
// that no other has, and the coordinator is asked.
//   FailedPrecondition  the job has no checkpoint; the message says which key would give it one.
//   Unavailable         there is no such file, and no coordinator to ask for such a job.
//   others              as Connection::Resolve.
absl::StatusOr<CheckpointSource> LocateCheckpoint(const Context& context, const std::string& text);

}  // namespace tandem::client
