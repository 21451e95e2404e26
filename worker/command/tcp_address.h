#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tandem::command {

struct TcpAddress {
  sockaddr_storage bytes = {};
  socklen_t size = sizeof(bytes);

  int family() const { return bytes.ss_family; }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

// An IPv4 or IPv6 address in numbers: no name is looked up.
//   InvalidArgument  it is not one.
absl::StatusOr<TcpAddress> ParseTcpAddress(const std::string& address, uint16_t port);

}  // namespace tandem::command
