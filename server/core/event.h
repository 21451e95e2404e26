#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "common/ids.h"
#include "tandem/v1/spec.pb.h"
#include "tandem/v1/worker.pb.h"

// Things that happened, as the shell tells them to the Coordinator.
namespace tandem::core {

// One stream of one worker; never used again for another.
using ConnectionId = Id<struct ConnectionIdTag, uint64_t>;

// A new job. Ignored when `id`, or a `request_id` that is not empty, is already known: a retry. Its record is the
// only thing that has to be stored: nothing else happens before the next event, which is best a ScheduleDue at once.
struct JobSubmitted {
  JobId id;
  // Valid, with all defaults filled in.
  v1::JobSpec spec;
  std::string request_id;
};

// The record of the submission just before could not be stored: the job is forgotten.
struct JobWithdrawn {
  JobId id;
};

// Ignored when CheckCancel would refuse it.
struct CancelRequested {
  JobId id;
};

// Ignored when CheckResize would refuse it.
struct ResizeRequested {
  JobId id;
  uint32_t min_workers;
  uint32_t max_workers;
};

// Ignored when CheckDrain would refuse it.
struct DrainRequested {
  WorkerName worker;
  // Takes it into use again.
  bool undo;
};

// Answered by a Registered message or a CloseWorker, always.
struct WorkerConnected {
  v1::Register registration;
  ConnectionId connection;
};

// Ignored when the worker has been refused, lost or replaced meanwhile.
struct WorkerDisconnected {
  WorkerName worker;
  Incarnation incarnation;
  ConnectionId connection;
  std::string reason;
};

// Anything but register. What comes twice, by its sequence number, is ignored the second time.
struct WorkerMessage {
  WorkerName worker;
  // Ignored when another one has replaced it.
  ConnectionId connection;
  v1::WorkerToCoordinator message;
};

// Jobs may be placed now, without waiting for the next TimePassed.
struct ScheduleDue {};

// Nothing could be told for a while, a full disk perhaps: that nothing was heard of workers and ranks meanwhile is
// not their fault. Before the events that waited.
struct HeldUp {};

// To be told a few times a second, after what had arrived by then: a message that waited in a queue
// while the process was held up renews its worker's lease first.
struct TimePassed {};

using Event = std::variant<JobSubmitted, JobWithdrawn, CancelRequested, ResizeRequested,
                           DrainRequested, WorkerConnected, WorkerDisconnected, WorkerMessage,
                           ScheduleDue, HeldUp, TimePassed>;

}  // namespace tandem::core
