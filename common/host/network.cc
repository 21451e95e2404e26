#include "common/host/network.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"

namespace tandem::host {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::StatusOr<AddressList> Resolve(const std::string& name, int flags) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(name.c_str(), "0", &hints, &found);
  if (error == 0) return AddressList(found, &freeaddrinfo);
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", gai_strerror(error)));
}

std::string InFigures(const addrinfo& address) {
  char text[NI_MAXHOST] = {};
  getnameinfo(address.ai_addr, address.ai_addrlen, text, sizeof(text), nullptr, 0, NI_NUMERICHOST);
  return text;
}

absl::Status Failed(const std::string& call, const std::string& address) {
  return absl::UnavailableError(
      absl::ErrnoToStatus(errno, absl::StrCat("cannot ", call, " ", address)).message());
}

void ResolveOwnName(const std::string& host, v1::NetworkFacts* facts) {
  const auto found = Resolve(host, 0);
  if (!found.ok()) return facts->set_name_problem(std::string(found.status().message()));
  std::set<std::string> addresses;
  for (const addrinfo* one = found->get(); one != nullptr; one = one->ai_next) {
    if (addresses.insert(InFigures(*one)).second) facts->add_addresses(InFigures(*one));
  }
}

}  // namespace

absl::Status ConnectToSelf(const std::string& address) {
  const auto found = Resolve(address, AI_NUMERICHOST | AI_PASSIVE);
  if (!found.ok()) return found.status();
  const int family = (*found)->ai_family;
  const FileDescriptor listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (bind(listener.get(), (*found)->ai_addr, (*found)->ai_addrlen) != 0)
    return Failed("bind", address);
  if (listen(listener.get(), 1) != 0) return Failed("listen on", address);
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  // The kernel of the same host answers at once, also before anybody accepts; a firewall may keep it from it.
  const FileDescriptor caller(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  constexpr timeval kPatience = {.tv_sec = 3, .tv_usec = 0};
  setsockopt(caller.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
  if (connect(caller.get(), reinterpret_cast<sockaddr*>(&bound), size) != 0) {
    return Failed("connect to", address);
  }
  return absl::OkStatus();
}

v1::NetworkFacts LookAtNetwork(const std::string& host, const std::string& advertise_address) {
  v1::NetworkFacts facts;
  facts.set_loopback_problem(std::string(ConnectToSelf("127.0.0.1").message()));
  ResolveOwnName(host, &facts);
  facts.set_advertise_address(advertise_address);
  if (advertise_address.empty()) return facts;
  facts.set_advertise_problem(std::string(ConnectToSelf(advertise_address).message()));
  return facts;
}

}  // namespace tandem::host
