#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tandem/v1/worker.grpc.pb.h"

namespace tandem::agent {

// A coordinator that does what a test tells it to and records what it hears, over real gRPC on
// loopback.
class FakeCoordinator : private v1::WorkerService::Service {
 public:
  using Messages = std::vector<v1::WorkerToCoordinator>;

  FakeCoordinator() { Listen(); }
  ~FakeCoordinator() override { StopListening(); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // Breaks connections and refuses new ones, until Listen, which takes the same port again.
  void StopListening();
  void Listen();
  // Breaks the connection that there is.
  void Disconnect();
  // What the next registrations are told.
  void SetLease(absl::Duration lease);
  // The next registration is answered with this status.
  void RefuseNext(grpc::Status status);

  // Messages are acknowledged, unless this has been told.
  void StopAcknowledging();

  // On the connection that there is, or else on the next one.
  void Send(const v1::CoordinatorToWorker& message);

  // Waits until the messages heard so far satisfy the condition; false after a generous time.
  bool WaitUntil(const std::function<bool(const Messages&)>& condition);
  Messages messages();

 private:
  using Stream = grpc::ServerReaderWriter<v1::CoordinatorToWorker, v1::WorkerToCoordinator>;

  grpc::Status Connect(grpc::ServerContext* context, Stream* stream) override;
  // False: refused, with the status.
  bool Admit(grpc::ServerContext* context, Stream* stream, grpc::Status* refusal);
  // What was heard before, by its number, is not recorded again.
  void Record(const v1::WorkerToCoordinator& message);
  void Acknowledge(Stream* stream, uint64_t sequence);

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;

  // The standard mutex, which ThreadSanitizer understands also where Abseil is not instrumented.
  std::mutex mutex_;
  std::condition_variable changed_;
  // The rest is guarded by mutex_.
  Messages messages_;
  uint64_t last_sequence_ = 0;
  bool acknowledges_ = true;
  absl::Duration lease_ = absl::Seconds(10);
  std::deque<grpc::Status> refusals_;
  grpc::ServerContext* context_ = nullptr;
  Stream* stream_ = nullptr;
};

}  // namespace tandem::agent
