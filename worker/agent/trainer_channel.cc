#include "worker/agent/trainer_channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/status/statusor.h"
#include "common/frame.h"

namespace tandem::agent {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;

}  // namespace

TrainerChannel::TrainerChannel(EventLoop* loop, FileDescriptor socket, MessageCallback on_message,
                               ClosedCallback on_closed)
    : loop_(*loop),
      socket_(std::move(socket)),
      on_message_(std::move(on_message)),
      on_closed_(std::move(on_closed)) {
  fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  WatchSocket();
}

absl::Status TrainerChannel::Send(const v1::AgentToTrainer& message) {
  if (!socket_.valid()) return absl::OkStatus();
  if (absl::Status framed = AppendFrame(message, &unsent_); !framed.ok()) return framed;
  WriteSome();
  return absl::OkStatus();
}

void TrainerChannel::Drain() {
  while (ReadSome()) {
  }
}

void TrainerChannel::WatchSocket() {
  watch_.Reset();
  const uint32_t writable = unsent_.empty() ? 0U : uint32_t{EPOLLOUT};
  watch_ = loop_.Watch(socket_.get(), EPOLLIN | writable, [this](uint32_t e) { OnReady(e); });
}

void TrainerChannel::OnReady(uint32_t events) {
  if (events & EPOLLOUT) WriteSome();
  ReadSome();
}

bool TrainerChannel::ReadSome() {
  if (!socket_.valid()) return false;
  char bytes[kReadBytes];
  const ssize_t n = recv(socket_.get(), bytes, sizeof(bytes), 0);
  if (n > 0) {
    received_.append(bytes, static_cast<size_t>(n));
    DeliverFrames();
    return true;
  }
  if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    Close(absl::OutOfRangeError("the trainer closed its channel"));
  }
  return false;
}

void TrainerChannel::DeliverFrames() {
  v1::TrainerToAgent message;
  absl::StatusOr<bool> taken = TakeFrame(&received_, &message);
  while (taken.ok() && *taken) {
    on_message_(message);
    taken = TakeFrame(&received_, &message);
  }
  if (!taken.ok()) Close(taken.status());
}

void TrainerChannel::WriteSome() {
  const bool was_waiting = !unsent_.empty();
  const ssize_t n = send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  // A trainer that has gone is noticed by the reading side, which still has its last messages to
  // deliver.
  if (n < 0 && errno != EAGAIN && errno != EINTR) unsent_.clear();
  if (n > 0) unsent_.erase(0, static_cast<size_t>(n));
  if (was_waiting || !unsent_.empty()) WatchSocket();
}

void TrainerChannel::Close(const absl::Status& reason) {
  watch_.Reset();
  socket_.Reset();
  on_closed_(reason);
}

}  // namespace tandem::agent
