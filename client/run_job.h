#pragma once

#include "absl/status/statusor.h"
#include "client/context.h"
#include "client/interrupts.h"
#include "client/local_cluster.h"
#include "client/rank_output.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::client {

struct RunRequest {
  v1::JobSpec spec;
  // Of its own, instead of the coordinator's; nullptr: none.
  const LocalCluster* cluster = nullptr;
  // Of what the ranks print.
  RankOutput::Options output;
};

// Submits a job, follows it to its end and prints what came out. The first interrupt cancels the job,
// a second one leaves.
// Errors as for Follow, and
//   Unavailable  a program of the cluster has ended by itself.
//   DataLoss  what the ranks printed could not be written.
absl::StatusOr<ExitCode> RunJob(Context* context, Interrupts* interrupts, RunRequest request);

}  // namespace tandem::client
