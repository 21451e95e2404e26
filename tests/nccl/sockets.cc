#include "tests/nccl/sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>

namespace tandem::stand_in {
namespace {

FileDescriptor NewSocket() {
  return FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// False: interrupted.
bool Await(int fd, int16_t events, const Interrupt& interrupt) {
  pollfd polled[] = {{fd, events, 0}, {interrupt.fd(), POLLIN, 0}};
  while (poll(polled, 2, -1) < 0 && errno == EINTR) {
  }
  return polled[1].revents == 0;
}

ptrdiff_t Outcome(ptrdiff_t done) {
  if (done > 0) return done;
  return done < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

template <typename Some, typename Byte>
bool All(const FileDescriptor& socket, int16_t events, const Some& some, Byte* data, size_t bytes,
         const Interrupt& interrupt) {
  while (bytes > 0) {
    if (!Await(socket.get(), events, interrupt)) return false;
    const ptrdiff_t done = some(socket.get(), data, bytes);
    if (done < 0) return false;
    data += done;
    bytes -= static_cast<size_t>(done);
  }
  return true;
}

}  // namespace

Interrupt::Interrupt() : event_(eventfd(0, EFD_CLOEXEC)) {}

void Interrupt::Raise() { eventfd_write(event_.get(), 1); }

bool Interrupt::raised() const {
  pollfd polled = {fd(), POLLIN, 0};
  return poll(&polled, 1, 0) > 0;
}

FileDescriptor Listen(uint16_t* port) {
  FileDescriptor listener = NewSocket();
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.get(), generic, size) != 0 || listen(listener.get(), SOMAXCONN) != 0 ||
      getsockname(listener.get(), generic, &size) != 0) {
    return FileDescriptor();
  }
  *port = ntohs(address.sin_port);
  return listener;
}

FileDescriptor ConnectTo(uint16_t port) {
  FileDescriptor connection = NewSocket();
  const sockaddr_in address = Loopback(port);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (connect(connection.get(), generic, sizeof(address)) != 0) return FileDescriptor();
  const int at_once = 1;
  setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
  return connection;
}

FileDescriptor Accept(const FileDescriptor& listener, const Interrupt& interrupt) {
  if (!Await(listener.get(), POLLIN, interrupt)) return FileDescriptor();
  FileDescriptor connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const int at_once = 1;
  setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
  return connection;
}

bool Write(const FileDescriptor& socket, const void* data, size_t bytes,
           const Interrupt& interrupt) {
  return All(socket, POLLOUT, WriteSome, static_cast<const std::byte*>(data), bytes, interrupt);
}

bool Read(const FileDescriptor& socket, void* data, size_t bytes, const Interrupt& interrupt) {
  return All(socket, POLLIN, ReadSome, static_cast<std::byte*>(data), bytes, interrupt);
}

ptrdiff_t WriteSome(int socket, const void* data, size_t bytes) {
  return Outcome(send(socket, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL));
}

ptrdiff_t ReadSome(int socket, void* data, size_t bytes) {
  return Outcome(recv(socket, data, bytes, MSG_DONTWAIT));
}

}  // namespace tandem::stand_in
