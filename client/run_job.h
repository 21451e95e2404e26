#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "client/context.h"
#include "client/interrupts.h"
#include "client/rank_output.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::client {

struct RunRequest {
  v1::JobSpec spec;
  // On a cluster of its own with so many slots, instead of the coordinator's.
  std::optional<uint32_t> local_slots;
  // Of what the ranks print.
  RankOutput::Options output;
};

// Submits a job, follows it to its end and prints what came out. The first interrupt cancels the job,
// a second one leaves.
// Errors as for LocalCluster and Follow, and
//   DataLoss  what the ranks printed could not be written.
absl::StatusOr<ExitCode> RunJob(Context* context, Interrupts* interrupts, RunRequest request);

}  // namespace tandem::client
