#include "worker/agent/testing/fake_coordinator.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/proto_time.h"

namespace tandem::agent {
namespace {

constexpr std::chrono::seconds kPatience(30);

}  // namespace

void FakeCoordinator::Listen() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address(), grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

void FakeCoordinator::StopListening() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

void FakeCoordinator::Disconnect() {
  const std::lock_guard lock(mutex_);
  if (context_ != nullptr) context_->TryCancel();
  stream_ = nullptr;
  context_ = nullptr;
}

void FakeCoordinator::RefuseNext(grpc::Status status) {
  const std::lock_guard lock(mutex_);
  refusals_.push_back(std::move(status));
}

void FakeCoordinator::Send(const v1::CoordinatorToWorker& message) {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kPatience, [this] { return stream_ != nullptr; }))
    stream_->Write(message);
}

bool FakeCoordinator::WaitUntil(const std::function<bool(const Messages&)>& condition) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return condition(messages_); });
}

FakeCoordinator::Messages FakeCoordinator::messages() {
  const std::lock_guard lock(mutex_);
  return messages_;
}

grpc::Status FakeCoordinator::Connect(grpc::ServerContext* context, Stream* stream) {
  v1::WorkerToCoordinator message;
  if (!stream->Read(&message)) return grpc::Status::OK;
  Record(message);
  grpc::Status refusal;
  if (!Admit(context, stream, &refusal)) return refusal;
  while (stream->Read(&message)) {
    Record(message);
    Acknowledge(stream, message.sequence());
  }
  const std::lock_guard lock(mutex_);
  if (stream_ == stream) stream_ = nullptr, context_ = nullptr;
  return grpc::Status::OK;
}

bool FakeCoordinator::Admit(grpc::ServerContext* context, Stream* stream, grpc::Status* refusal) {
  const std::lock_guard lock(mutex_);
  if (!refusals_.empty()) {
    *refusal = refusals_.front();
    refusals_.pop_front();
    return false;
  }
  v1::CoordinatorToWorker registered;
  registered.mutable_registered()->mutable_heartbeat_interval()->set_nanos(20'000'000);
  *registered.mutable_registered()->mutable_lease() = ToProto(lease_);
  stream->Write(registered);
  stream_ = stream;
  context_ = context;
  changed_.notify_all();
  return true;
}

void FakeCoordinator::Record(const v1::WorkerToCoordinator& message) {
  const std::lock_guard lock(mutex_);
  const bool repeated = message.sequence() > 0 && message.sequence() <= last_sequence_;
  if (repeated) return;
  last_sequence_ = std::max(last_sequence_, message.sequence());
  messages_.push_back(message);
  changed_.notify_all();
}

void FakeCoordinator::SetLease(absl::Duration lease) {
  const std::lock_guard lock(mutex_);
  lease_ = lease;
}

void FakeCoordinator::StopAcknowledging() {
  const std::lock_guard lock(mutex_);
  acknowledges_ = false;
}

void FakeCoordinator::Acknowledge(Stream* stream, uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (sequence == 0 || !acknowledges_) return;
  v1::CoordinatorToWorker message;
  message.mutable_acknowledge()->set_sequence(sequence);
  stream->Write(message);
}

}  // namespace tandem::agent
