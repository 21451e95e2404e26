#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "tandem/v1/worker.grpc.pb.h"
#include "worker/process/event_loop.h"

namespace tandem::agent {

// One call of WorkerService.Connect, from its start to its status. gRPC's threads only post to the
// loop; all methods and the listener belong to the loop. Never used for a second call.
class ConnectStream
    : public grpc::ClientBidiReactor<v1::WorkerToCoordinator, v1::CoordinatorToWorker> {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnReceived(const v1::CoordinatorToWorker& message) = 0;
    // The message given to Write is on its way (or, if not ok, may not be: the call is breaking).
    virtual void OnWritten(bool ok) = 0;
    // Always the last.
    virtual void OnClosed(const grpc::Status& status) = 0;
  };

  // The listener and the loop must outlive the call: they have to wait for OnClosed.
  static std::shared_ptr<ConnectStream> Start(EventLoop* loop, const std::string& coordinator,
                                              Listener* listener);

  // One at a time: not again before OnWritten.
  void Write(v1::WorkerToCoordinator message);
  // No more will be written; the coordinator answers by closing. Not while a Write is pending.
  void FinishWriting();
  void Cancel() { context_.TryCancel(); }

 private:
  ConnectStream(EventLoop* loop, const std::string& coordinator, Listener* listener);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  EventLoop& loop_;
  Listener& listener_;
  const std::unique_ptr<v1::WorkerService::Stub> stub_;
  grpc::ClientContext context_;
  // Each is gRPC's from the start of an operation until its reaction has been posted, else the
  // loop's.
  v1::CoordinatorToWorker incoming_;
  v1::WorkerToCoordinator outgoing_;
  // gRPC refers to the stream until OnDone.
  std::shared_ptr<ConnectStream> self_;
  bool broken_ = false;
};

}  // namespace tandem::agent
