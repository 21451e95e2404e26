#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/backoff.h"
#include "tandem/v1/worker.pb.h"
#include "worker/agent/connect_stream.h"
#include "worker/agent/outbox.h"
#include "worker/process/event_loop.h"

namespace tandem::agent {

// The agent's connection to the coordinator, made again whenever it breaks. Loop only.
//
//   waiting --backoff over--> registering --Registered--> connected
//      ^                           |                          |
//      +---------------------------+------ call closed -------+
class CoordinatorLink : private ConnectStream::Listener {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // An error counts as a failed try.
    virtual absl::StatusOr<v1::Register> MakeRegister() = 0;
    virtual v1::Heartbeat MakeHeartbeat() = 0;
    virtual void OnConnected(const v1::Registered& registered) = 0;
    virtual void OnMessage(const v1::CoordinatorToWorker& message) = 0;
    // The coordinator has it on disk.
    virtual void OnAcknowledged(const v1::WorkerToCoordinator& message) = 0;
    // A try failed, or the connection broke; there will be another try.
    virtual void OnDisconnected(const absl::Status& why) = 0;
    // The coordinator does not want this agent; there will be no other try.
    virtual void OnRefused(const absl::Status& why) = 0;
  };

  CoordinatorLink(EventLoop* loop, std::string coordinator, Backoff::Policy backoff, Owner* owner);

  void Start() { Connect(); }
  // Sends now or when connected, in the order of the calls, as often as it takes until the coordinator
  // acknowledges it.
  void Send(v1::WorkerToCoordinator message);
  // Sends what it can until everything is acknowledged or `patience` is over, and ends the call. Then calls
  // `on_closed`, once, after which the link may be destroyed. Not before.
  void Close(absl::Duration patience, std::function<void()> on_closed);

 private:
  static constexpr size_t kLogBytesLimit = size_t{16} << 20;

  void Connect();
  void OnRegistered(const v1::Registered& registered);
  void Beat();
  // Writes the next message, if there is one and the last one is written.
  void Pump();
  void Retry(const absl::Status& why);

  void OnReceived(const v1::CoordinatorToWorker& message) override;
  void OnWritten(bool ok) override;
  void OnClosed(const grpc::Status& status) override;

  EventLoop& loop_;
  const std::string coordinator_;
  Owner& owner_;
  Backoff backoff_;
  Outbox outbox_;

  // Null while waiting.
  std::shared_ptr<ConnectStream> stream_;
  bool registered_ = false;
  bool writing_ = false;
  bool heartbeat_due_ = false;
  absl::Duration heartbeat_interval_;
  std::function<void()> on_closed_;
  EventLoop::Registration retry_timer_, heartbeat_timer_, close_timer_;
};

}  // namespace tandem::agent
