#include "server/service/worker_reactor.h"

#include <utility>

#include "server/service/grpc_status.h"

namespace tandem::service {

WorkerReactor::WorkerReactor(EventLoop& loop, Controller& controller,
                             grpc::CallbackServerContext& context, core::ConnectionId connection)
    : loop_(loop), controller_(controller), context_(context), connection_(connection) {
  loop_.Post([this] { controller_.streams().Add(connection_, this); });
  StartRead(&received_);
}

void WorkerReactor::Send(v1::CoordinatorToWorker message) {
  absl::MutexLock lock(&mutex_);
  if (end_.has_value()) return;
  if (unsent_.size() >= kMaxUnsent) {
    unsent_.erase(unsent_.begin() + (writing_ ? 1 : 0), unsent_.end());
    SetEnd(absl::ResourceExhaustedError("the agent does not read what it is sent"));
    context_
        .TryCancel();  // Under the lock, so that the call cannot finish and take the context away.
    return;
  }
  unsent_.push_back(std::move(message));
  Proceed();
}

void WorkerReactor::Close(absl::Status status) {
  absl::MutexLock lock(&mutex_);
  SetEnd(std::move(status));
  Proceed();
}

void WorkerReactor::ReadNext() {
  absl::MutexLock lock(&mutex_);
  if (!end_.has_value()) StartRead(&received_);
}

void WorkerReactor::OnReadDone(bool ok) {
  if (ok) {
    loop_.Post([this] { Handle(); });
  } else {
    Close(absl::OkStatus());  // The agent has said all it had to say.
  }
}

void WorkerReactor::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  unsent_.pop_front();
  if (!ok) {
    unsent_.clear();
    SetEnd(absl::CancelledError("the connection broke"));
  }
  Proceed();
}

// What was posted about this connection runs first, then the loop's pointer goes, then the object.
void WorkerReactor::OnDone() {
  loop_.Post([this] {
    Disconnect();
    delete this;
  });
}

void WorkerReactor::Handle() {
  if (registered_ == received_.has_register_()) {
    Close(absl::InvalidArgumentError("Register must be the first message, and only that"));
    return;
  }
  auto read_on = [&streams = controller_.streams(), connection = connection_] {
    streams.ReadNext(connection);
  };
  if (received_.has_register_()) {
    registered_ = true;
    worker_ = WorkerName(received_.register_().name());
    incarnation_ = Incarnation(received_.register_().incarnation());
    controller_.Deliver(
        core::WorkerConnected{std::move(*received_.mutable_register_()), connection_}, read_on);
  } else {
    controller_.Deliver(core::WorkerMessage{worker_, connection_, std::move(received_)}, read_on);
  }
}

void WorkerReactor::Disconnect() {
  controller_.streams().Remove(connection_);
  if (!registered_) return;
  controller_.Deliver(core::WorkerDisconnected{worker_, incarnation_, connection_, Reason()},
                      [] {});
}

std::string WorkerReactor::Reason() {
  absl::MutexLock lock(&mutex_);
  return end_->ok() ? "the agent closed the connection" : std::string(end_->message());
}

void WorkerReactor::SetEnd(absl::Status status) {
  if (!end_.has_value()) end_ = std::move(status);
}

void WorkerReactor::Proceed() {
  if (writing_ || finished_) return;
  if (!unsent_.empty()) {
    writing_ = true;
    StartWrite(&unsent_.front());
  } else if (end_.has_value()) {
    finished_ = true;
    Finish(ToGrpc(*end_));
  }
}

}  // namespace tandem::service
