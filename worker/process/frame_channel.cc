#include "worker/process/frame_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "common/clock.h"

namespace tandem {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
constexpr int kFlushSliceMilliseconds = 100;

}  // namespace

FrameSocket::FrameSocket(EventLoop* loop, FileDescriptor socket, ClosedCallback on_closed)
    : loop_(*loop), socket_(std::move(socket)), on_closed_(std::move(on_closed)) {
  fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  WatchSocket();
}

absl::Status FrameSocket::Send(const google::protobuf::MessageLite& message) {
  if (!socket_.valid()) return absl::OkStatus();
  if (absl::Status framed = AppendFrame(message, &unsent_); !framed.ok()) return framed;
  WriteSome();
  return absl::OkStatus();
}

void FrameSocket::HangUp() {
  watch_.Reset();
  socket_.Reset();
}

void FrameSocket::Drain() {
  while (ReadSome()) {
  }
}

void FrameSocket::Flush(absl::Duration patience) {
  const SystemClock clock;
  const absl::Duration deadline = clock.Now().steady + patience;
  while (socket_.valid() && !unsent_.empty() && clock.Now().steady < deadline) {
    pollfd writable{socket_.get(), POLLOUT, 0};
    // In slices, so that the deadline is noticed.
    poll(&writable, 1, kFlushSliceMilliseconds);
    WriteSome();
  }
}

void FrameSocket::WatchSocket() {
  watch_.Reset();
  const uint32_t writable = unsent_.empty() ? 0U : uint32_t{EPOLLOUT};
  watch_ = loop_.Watch(socket_.get(), EPOLLIN | writable, [this](uint32_t e) { OnReady(e); });
}

void FrameSocket::OnReady(uint32_t events) {
  if (events & EPOLLOUT) WriteSome();
  ReadSome();
}

bool FrameSocket::ReadSome() {
  if (!socket_.valid()) return false;
  char bytes[kReadBytes];
  const ssize_t n = recv(socket_.get(), bytes, sizeof(bytes), 0);
  if (n > 0) {
    received_.append(bytes, static_cast<size_t>(n));
    if (absl::Status delivered = Deliver(&received_); !delivered.ok()) Close(delivered);
    return true;
  }
  if (n == 0) {
    Close(absl::OutOfRangeError("it was closed at the other end"));
  } else if (errno != EAGAIN && errno != EINTR) {
    Close(absl::OutOfRangeError(absl::ErrnoToStatus(errno, "recv").message()));
  }
  return false;
}

void FrameSocket::WriteSome() {
  const bool was_waiting = !unsent_.empty();
  const ssize_t n = send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  // An end that has gone is noticed by the reading side, which still has its last messages to
  // deliver.
  if (n < 0 && errno != EAGAIN && errno != EINTR) unsent_.clear();
  if (n > 0) unsent_.erase(0, static_cast<size_t>(n));
  if (was_waiting || !unsent_.empty()) WatchSocket();
}

void FrameSocket::Close(const absl::Status& reason) {
  HangUp();
  on_closed_(reason);
}

}  // namespace tandem
