#include "common/message_channel.h"

#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/frame.h"
#include "common/little_endian.h"

namespace tandem {
namespace {

absl::Status SendAll(int fd, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::UnavailableError(absl::ErrnoToStatus(errno, "send").message());
    sent += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

// Returns how many bytes arrived before the peer closed.
absl::StatusOr<size_t> ReceiveAll(int fd, char* data, size_t size) {
  size_t got = 0;
  while (got < size) {
    const ssize_t n = recv(fd, data + got, size - got, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != ECONNRESET) {
      return absl::UnavailableError(absl::ErrnoToStatus(errno, "recv").message());
    }
    if (n <= 0) break;
    got += static_cast<size_t>(n);
  }
  return got;
}

}  // namespace

absl::Status MessageChannel::Send(const google::protobuf::MessageLite& message) {
  std::string bytes;
  if (absl::Status framed = AppendFrame(message, &bytes); !framed.ok()) return framed;
  absl::MutexLock lock(&send_mutex_);
  return SendAll(socket_.get(), bytes);
}

absl::Status MessageChannel::Receive(google::protobuf::MessageLite* message) {
  char header[kFrameHeaderBytes];
  absl::StatusOr<size_t> got = ReceiveAll(socket_.get(), header, kFrameHeaderBytes);
  if (!got.ok()) return got.status();
  if (*got == 0) return absl::OutOfRangeError("the peer closed the connection");
  if (*got < kFrameHeaderBytes) return absl::DataLossError("the peer closed inside a message");
  const size_t size = LoadLittleEndian32(header);
  if (size > kMaxFrameBytes) {
    return absl::DataLossError(absl::StrCat("a message announces ", size, " bytes"));
  }
  std::string body(size, '\0');
  got = ReceiveAll(socket_.get(), body.data(), size);
  if (!got.ok()) return got.status();
  if (*got < size) return absl::DataLossError("the peer closed inside a message");
  if (!message->ParseFromString(body)) return absl::DataLossError("a message cannot be read");
  return absl::OkStatus();
}

void MessageChannel::Shutdown() { shutdown(socket_.get(), SHUT_RDWR); }

absl::StatusOr<std::pair<FileDescriptor, FileDescriptor>> MakeSocketPair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  return std::pair(FileDescriptor(fds[0]), FileDescriptor(fds[1]));
}

}  // namespace tandem
