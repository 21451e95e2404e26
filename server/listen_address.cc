#include "server/listen_address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
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
std::string WhyNot(const ListenAddress& address) {
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

std::string ListenAddress::ToString() const {
  const bool v6 = absl::StrContains(host, ':');
  return v6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

bool ListenAddress::IsLoopback() const {
  return host == "localhost" || host == "::1" || absl::StartsWith(host, "127.");
}

absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view flag, absl::string_view text) {
  const size_t colon = text.rfind(':');
  absl::string_view host = text.substr(0, colon);
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  int port = -1;
  const bool has_port =
      colon != absl::string_view::npos && absl::SimpleAtoi(text.substr(colon + 1), &port);
  if (!has_port || port < 0 || port > 65535 || host.empty() ||
      (!bracketed && absl::StrContains(host, ':'))) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": '", text,
                     "' is not HOST:PORT, such as 127.0.0.1:4270, [::1]:4270 or localhost:0"));
  }
  return ListenAddress{std::string(host), port};
}

absl::Status CannotListen(absl::string_view flag, const ListenAddress& address) {
  return absl::UnavailableError(absl::StrCat("cannot listen on ", address.ToString(), ": ",
                                             WhyNot(address), "; choose another ", flag));
}

}  // namespace tandem
