#include "worker/agent/coordinator_link.h"

#include <utility>

#include "common/proto_time.h"

namespace tandem::agent {
namespace {

constexpr absl::Duration kDefaultHeartbeat = absl::Seconds(1);

absl::Status ToStatus(const grpc::Status& status) {
  if (status.ok()) return absl::UnavailableError("the coordinator closed the connection");
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

bool IsFinal(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status);
}

}  // namespace

CoordinatorLink::CoordinatorLink(EventLoop* loop, std::string coordinator, Backoff::Policy backoff,
                                 Owner* owner)
    : loop_(*loop),
      coordinator_(std::move(coordinator)),
      owner_(*owner),
      backoff_(backoff),
      outbox_(kLogBytesLimit) {}

void CoordinatorLink::Send(v1::WorkerToCoordinator message) {
  outbox_.Add(std::move(message));
  Pump();
}

void CoordinatorLink::Close(absl::Duration patience, std::function<void()> on_closed) {
  on_closed_ = std::move(on_closed);
  retry_timer_.Reset();
  if (stream_ == nullptr) return on_closed_();
  close_timer_ =
      loop_.After(registered_ ? patience : absl::ZeroDuration(), [this] { stream_->Cancel(); });
  Pump();
}

void CoordinatorLink::Connect() {
  absl::StatusOr<v1::Register> registration = owner_.MakeRegister();
  if (!registration.ok()) return Retry(registration.status());
  stream_ = ConnectStream::Start(&loop_, coordinator_, this);
  v1::WorkerToCoordinator message;
  *message.mutable_register_() = *std::move(registration);
  message.mutable_register_()->set_next_sequence(outbox_.first_sequence());
  outbox_.Rewind();
  writing_ = true;
  stream_->Write(std::move(message));
}

void CoordinatorLink::OnReceived(const v1::CoordinatorToWorker& message) {
  if (message.has_registered()) return OnRegistered(message.registered());
  if (!message.has_acknowledge()) return owner_.OnMessage(message);
  outbox_.Acknowledge(message.acknowledge().sequence(),
                      [this](const auto& taken) { owner_.OnAcknowledged(taken); });
  Pump();
}

void CoordinatorLink::OnRegistered(const v1::Registered& registered) {
  registered_ = true;
  backoff_.Reset();
  heartbeat_interval_ = FromProto(registered.heartbeat_interval());
  if (heartbeat_interval_ <= absl::ZeroDuration()) heartbeat_interval_ = kDefaultHeartbeat;
  owner_.OnConnected(registered);
  Beat();
}

void CoordinatorLink::Beat() {
  heartbeat_due_ = true;
  heartbeat_timer_ = loop_.After(heartbeat_interval_, [this] { Beat(); });
  Pump();
}

void CoordinatorLink::Pump() {
  // Nothing before Registered: a coordinator that refuses the registration would drop it.
  if (!registered_ || writing_) return;
  if (heartbeat_due_) {
    // Ahead of the queue, so that a flood of log lines does not make the agent look dead.
    heartbeat_due_ = false;
    writing_ = true;
    v1::WorkerToCoordinator message;
    *message.mutable_heartbeat() = owner_.MakeHeartbeat();
    stream_->Write(std::move(message));
  } else if (const v1::WorkerToCoordinator* next = outbox_.Next()) {
    writing_ = true;
    outbox_.NoteSent();
    stream_->Write(*next);
  } else if (on_closed_ != nullptr && outbox_.empty()) {
    writing_ = true;
    stream_->FinishWriting();
  }
}

void CoordinatorLink::OnWritten(bool ok) {
  writing_ = false;
  if (ok) return Pump();
  // OnClosed follows. Until then nothing may be written.
  registered_ = false;
}

void CoordinatorLink::OnClosed(const grpc::Status& status) {
  stream_.reset();
  registered_ = false;
  writing_ = false;
  heartbeat_timer_.Reset();
  close_timer_.Reset();
  if (on_closed_ != nullptr) return on_closed_();
  const absl::Status why = ToStatus(status);
  if (IsFinal(why)) return owner_.OnRefused(why);
  Retry(why);
}

void CoordinatorLink::Retry(const absl::Status& why) {
  retry_timer_ = loop_.After(backoff_.Next(), [this] { Connect(); });
  owner_.OnDisconnected(why);
}

}  // namespace tandem::agent
