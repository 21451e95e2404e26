#include "worker/agent/route.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"

namespace tandem::agent {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<AddressList> Resolve(const HostPort& target) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(target.port);
  const int error = getaddrinfo(target.host.c_str(), port.c_str(), &hints, &found);
  if (error == 0) return AddressList(found, &freeaddrinfo);
  return absl::UnavailableError(
      absl::StrCat("cannot resolve the host name ", target.host, ": ", gai_strerror(error)));
}

// The local end of a datagram socket that is connected, which only looks up the route.
absl::StatusOr<std::string> LocalEnd(const addrinfo& target) {
  const FileDescriptor probe(socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage local{};
  socklen_t size = sizeof(local);
  if (connect(probe.get(), target.ai_addr, target.ai_addrlen) != 0 ||
      getsockname(probe.get(), reinterpret_cast<sockaddr*>(&local), &size) != 0) {
    return absl::UnavailableError(absl::ErrnoToStatus(errno, "no route").message());
  }
  char text[NI_MAXHOST];
  const int error = getnameinfo(reinterpret_cast<const sockaddr*>(&local), size, text, sizeof(text),
                                nullptr, 0, NI_NUMERICHOST);
  if (error != 0) return absl::UnavailableError(gai_strerror(error));
  return std::string(text);
}

bool IsLoopback(const std::string& address) {
  return address == "::1" || address.starts_with("127.");
}

}  // namespace

bool IsNumericAddress(const std::string& text) {
  in6_addr address;  // large enough for both
  return inet_pton(AF_INET, text.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

absl::StatusOr<std::string> LocalAddressTowards(const HostPort& target) {
  const auto addresses = Resolve(target);
  if (!addresses.ok()) return addresses.status();
  absl::StatusOr<std::string> local = LocalEnd(**addresses);
  if (local.ok() && IsLoopback(*local)) return "127.0.0.1";
  return local;
}

}  // namespace tandem::agent
