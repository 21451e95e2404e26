#pragma once

#include "absl/status/statusor.h"
#include "client/connection.h"
#include "client/interrupts.h"
#include "client/progress.h"
#include "client/verify/evidence.h"

namespace tandem::client {

// Where `tandem verify` trains. All of it outlives a training.
struct TrainingGround {
  Connection* connection;
  Interrupts* interrupts;
  Progress* progress;
};

struct ObservedTraining {
  // As it ended.
  v1::Job job;
  verify::Run run;
};

// Makes the folder for the traces, trains the job to its end, and collects its history and, unless it
// runs a program, the traces of its ranks. A job whose ranks do not agree is collected as well, with traces or without:
// that is a finding.
// Errors as for Connection and ReadTraces, and
//   Aborted    the job failed in another way, or was cancelled; the message is its cause. Or it runs a
//              program that reported nothing.
//   NotFound   the folder cannot be made.
//   Cancelled  interrupted.
absl::StatusOr<ObservedTraining> TrainObserved(const v1::JobSpec& spec,
                                               const TrainingGround& ground);

}  // namespace tandem::client
