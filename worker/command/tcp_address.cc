#include "worker/command/tcp_address.h"

#include <netdb.h>

#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tandem::command {

absl::StatusOr<TcpAddress> ParseTcpAddress(const std::string& address, uint16_t port) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), absl::StrCat(port).c_str(), &hints, &found) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", address, "' is not a numeric address"));
  }
  const auto free_found = absl::MakeCleanup([found] { freeaddrinfo(found); });
  TcpAddress parsed;
  parsed.size = found->ai_addrlen;
  std::memcpy(&parsed.bytes, found->ai_addr, found->ai_addrlen);
  return parsed;
}

}  // namespace tandem::command
