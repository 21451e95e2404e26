#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "tandem/v1/job.pb.h"
#include "tandem/v1/journal.pb.h"
#include "tandem/v1/trainer.pb.h"

namespace tandem::store {

// What happened since the last commit.
struct Batch {
  struct Progress {
    JobId job;
    v1::RankProgress progress;
  };

  struct Drain {
    WorkerName worker;
    bool draining;
  };

  std::vector<v1::JobRecord> jobs;
  std::vector<Progress> progress;
  // Jobs that go, with their history; whatever else the batch says about them.
  std::vector<JobId> forgotten;
  std::vector<Drain> drains;

  bool empty() const { return IsOnlyHistory() && progress.empty(); }
  // Nothing that anybody must be told of.
  bool IsOnlyHistory() const { return jobs.empty() && forgotten.empty() && drains.empty(); }
};

// The coordinator's memory: jobs, and the history of each. Not thread-safe.
class Journal {
 public:
  virtual ~Journal() = default;

  // By rising sequence.
  //   DataLoss  a record cannot be read; the message names the job.
  //   Internal  the journal cannot be read.
  virtual absl::StatusOr<std::vector<v1::JobRecord>> LoadJobs() = 0;

  // The workers that are being drained.
  //   Internal  the journal cannot be read.
  virtual absl::StatusOr<std::vector<WorkerName>> LoadDraining() = 0;

  // All of it or nothing, and on disk when it returns. A record replaces the job's earlier one.
  // Samples that start at step s replace all that was recorded from s on: a later attempt that runs
  // through the same steps again leaves nothing of an earlier one behind it.
  //   ResourceExhausted   the disk is full.
  //   FailedPrecondition  as Check; nothing was written.
  //   Internal            the journal cannot be written.
  virtual absl::Status Commit(const Batch& batch) = 0;

  // Whether what is committed would be found again. Cheap enough for every tick.
  //   FailedPrecondition  where the journal was opened, there is nothing or another one.
  virtual absl::Status Check() const = 0;

  // At most `limit` samples from `from_step` on, at least one where there is one, and the
  // evaluations between them.
  //   Internal  the journal cannot be read.
  virtual absl::StatusOr<v1::GetHistoryResponse> ReadHistory(const JobId& job, uint64_t from_step,
                                                             uint32_t limit) = 0;
};

}  // namespace tandem::store
