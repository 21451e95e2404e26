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
  // Empty where the job says nothing about numbers: see IsEvidence.
  verify::Run run;
};

// Whether the run of a job that has ended can be compared: it succeeded, or its own ranks did not
// agree, which is a finding.
bool IsEvidence(const v1::Job& job);

// Makes the folder for the traces, trains the job to its end, and collects its history and the
// traces of its ranks. Errors as for Connection and ReadTraces, and
//   NotFound   the folder cannot be made.
//   Cancelled  interrupted.
absl::StatusOr<ObservedTraining> TrainObserved(const v1::JobSpec& spec,
                                               const TrainingGround& ground);

}  // namespace tandem::client
