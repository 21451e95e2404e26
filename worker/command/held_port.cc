#include "worker/command/held_port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "worker/command/port_holder.h"
#include "worker/command/tcp_address.h"

namespace tandem::command {
namespace {

constexpr char kAllAddresses[] = "::";

uint16_t PortOf(int socket) {
  TcpAddress address;
  getsockname(socket, address.get(), &address.size);
  // At the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(address.get())->sin_port);
}

absl::Status Refused(const std::string& where, uint16_t port) {
  const int error = errno;
  if (error == EADDRINUSE && port != 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("port ", port, " is taken by ", DescribePortHolder(port)));
  }
  return absl::UnavailableError(
      absl::StrCat("cannot bind port ", port, " on ", where, ": ", std::strerror(error)));
}

absl::StatusOr<HeldPort> Bind(const std::string& where, uint16_t port) {
  const absl::StatusOr<TcpAddress> address = ParseTcpAddress(where, port);
  if (!address.ok()) return address.status();
  FileDescriptor bound(socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1, off = 0;
  // A port of the user's choice may have connections of the attempt before that wait for their last
  // packet.
  if (port != 0) setsockopt(bound.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (where == kAllAddresses) {
    setsockopt(bound.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (!bound.valid() || bind(bound.get(), address->get(), address->size) != 0) {
    return Refused(where, port);
  }
  const uint16_t held = PortOf(bound.get());
  return HeldPort{std::move(bound), held};
}

}  // namespace

absl::StatusOr<HeldPort> ListenOn(const std::string& address, uint16_t port) {
  absl::StatusOr<HeldPort> held = Bind(address, port);
  if (held.ok() && listen(held->socket.get(), SOMAXCONN) != 0) return Refused(address, port);
  return held;
}

absl::StatusOr<HeldPort> ReservePort(uint16_t port) {
  absl::StatusOr<HeldPort> held = Bind(kAllAddresses, port);
  const bool has_no_ipv6 = absl::IsUnavailable(held.status());
  return has_no_ipv6 ? Bind("0.0.0.0", port) : std::move(held);
}

}  // namespace tandem::command
