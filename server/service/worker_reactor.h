#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/service/controller.h"
#include "server/service/event_loop.h"
#include "server/service/worker_streams.h"
#include "tandem/v1/worker.pb.h"

namespace tandem::service {

// One connection of an agent. A message is read only when the one before it has taken effect, so an
// agent that floods fills its own buffers, not ours.
//
// Lives until gRPC is done with it and the loop has let go of it.
class WorkerReactor
    : public grpc::ServerBidiReactor<v1::WorkerToCoordinator, v1::CoordinatorToWorker>,
      public WorkerStream {
 public:
  // An agent that leaves so many messages unread is cut off.
  static constexpr size_t kMaxUnsent = 1024;

  WorkerReactor(EventLoop& loop, Controller& controller, grpc::CallbackServerContext& context,
                core::ConnectionId connection);

  void Send(v1::CoordinatorToWorker message) override;
  void Close(absl::Status status) override;
  void ReadNext() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { Close(absl::CancelledError("the connection broke")); }
  void OnDone() override;

 private:
  // On the loop's thread.
  void Handle();
  void Disconnect();
  // Why the connection ended. It has.
  std::string Reason();

  void SetEnd(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Does what is due next, if anything: what is unsent goes out before the end.
  void Proceed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  EventLoop& loop_;
  Controller& controller_;
  grpc::CallbackServerContext& context_;
  const core::ConnectionId connection_;

  // Of gRPC while a read is under way, else of the loop's thread.
  v1::WorkerToCoordinator received_;

  // Of the loop's thread.
  bool registered_ = false;
  WorkerName worker_;
  Incarnation incarnation_;

  absl::Mutex mutex_;
  std::deque<v1::CoordinatorToWorker> unsent_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tandem::service
