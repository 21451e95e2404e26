#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "server/core/event.h"
#include "tandem/v1/worker.pb.h"

namespace tandem::service {

// The coordinator's end of one connection to an agent. Never blocks.
class WorkerStream {
 public:
  virtual ~WorkerStream() = default;
  virtual void Send(v1::CoordinatorToWorker message) = 0;
  // Ends the stream with this status once everything sent before is out. Only the first call
  // counts.
  virtual void Close(absl::Status status) = 0;
  // What was read last has been dealt with: read the next message.
  virtual void ReadNext() = 0;
};

// The connections that are open now. What is addressed to a connection that is gone is dropped. Of
// the loop's thread.
class WorkerStreams {
 public:
  void Add(core::ConnectionId connection, WorkerStream* stream);
  void Remove(core::ConnectionId connection) { streams_.erase(connection); }

  void Send(core::ConnectionId connection, v1::CoordinatorToWorker message);
  void Close(core::ConnectionId connection, absl::Status status);
  void ReadNext(core::ConnectionId connection);
  // Closes every stream, and from now on each new one.
  void Shutdown(absl::Status status);

 private:
  absl::flat_hash_map<core::ConnectionId, WorkerStream*> streams_;
  absl::Status shut_down_;
};

}  // namespace tandem::service
