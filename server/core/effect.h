#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "server/core/event.h"
#include "tandem/v1/job.pb.h"
#include "tandem/v1/journal.pb.h"
#include "tandem/v1/worker.pb.h"

// Things to do, as the Coordinator tells them to the shell.
namespace tandem::core {

// Must be on disk before anything after it in the list is done. Replaces the job's earlier record.
struct PersistJob {
  v1::JobRecord record;
};

// An ended job that is not kept any longer: its record, its history and its logs go.
struct ForgetJob {
  JobId job;
};

// Must be on disk before anything after it, as PersistJob.
struct PersistDrain {
  WorkerName worker;
  bool draining;
};

// Steps and evaluations to add to the job's history. A sample replaces an earlier one of the same
// step: a later attempt runs through the same steps again.
struct RecordHistory {
  JobId job;
  v1::RankProgress progress;
};

// Lines of the current or last attempt of a job.
struct AppendLogs {
  v1::RankLog log;
};

// To be sent once everything so far, in this list and before it, is on disk; the highest number stands for
// those below it.
struct AcknowledgeWorker {
  ConnectionId connection;
  uint64_t sequence;
};

// To be dropped when the connection is gone.
struct SendToWorker {
  WorkerName worker;
  ConnectionId connection;
  v1::CoordinatorToWorker message;
};

// Ends the stream with this status.
struct CloseWorker {
  WorkerName worker;
  ConnectionId connection;
  absl::Status status;
};

// FindJob answers something else than before: state, progress, position of a rank or what it waits
// for. At most once a job in a list, and after what must be on disk.
struct JobChanged {
  JobId job;
};

struct Log {
  absl::LogSeverity severity;
  std::string text;
};

// What is counted and measured.
struct AttemptStarted {
  JobId job;
};
// From the placement of an attempt until all its ranks were ready.
struct RendezvousMeasured {
  absl::Duration duration;
};
// The code of an end that was wanted (a resize, say) too.
struct AttemptFailed {
  v1::CauseCode code;
};
// From the last step of one attempt to the first of the next.
struct PauseMeasured {
  absl::Duration duration;
};
struct StepsDone {
  uint64_t steps;
  uint64_t samples;
};

using Effect =
    std::variant<PersistJob, ForgetJob, PersistDrain, RecordHistory, AppendLogs, AcknowledgeWorker,
                 SendToWorker, CloseWorker, JobChanged, Log, AttemptStarted, RendezvousMeasured,
                 AttemptFailed, PauseMeasured, StepsDone>;
using Effects = std::vector<Effect>;

}  // namespace tandem::core
