#include "server/cannot_listen.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"

namespace tandem {
namespace {

using AddressInfo = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Where to look next.
std::string Advice(int error, int port) {
  if (error != EADDRINUSE) return "";
  return absl::StrCat("; `ss -ltnp 'sport = :", port, "'` shows by whom");
}

// Tries what has failed once more, only to hear the reason that gRPC and httplib keep to
// themselves.
std::string WhyNot(const HostPort& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const int error = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) return gai_strerror(error);
  const AddressInfo owner(found, freeaddrinfo);
  const FileDescriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool works =
      bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0 && listen(socket.get(), 1) == 0;
  if (works) return "it was in use a moment ago; try again";
  const int reason = errno;
  return absl::StrCat(std::strerror(reason), Advice(reason, address.port));
}

}  // namespace

absl::Status CannotListen(absl::string_view flag, const HostPort& address) {
  return absl::UnavailableError(absl::StrCat("cannot listen on ", address.ToString(), ": ",
                                             WhyNot(address), "; choose another ", flag));
}

}  // namespace tandem
