#include "worker/ddp/rendezvous.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/file_descriptor.h"
#include "worker/ddp/torch_status.h"

namespace tandem::ddp {
namespace {

// Outside every attempt's prefix, so that a stranger finds out whose store it has reached.
constexpr char kOwnerKey[] = "owner";

std::string OwnerText(const Membership& self) {
  return absl::StrFormat("job %s attempt %d of %d ranks", self.job.value(), self.attempt.value(),
                         self.world_size);
}

std::string RankText(uint32_t rank, const Membership& self) {
  return absl::StrFormat("rank %d of %d", rank, self.world_size);
}

std::string ArrivedKey(uint32_t rank) { return absl::StrCat("arrived/", rank); }

c10::intrusive_ptr<c10d::Store> AttemptStore(const Membership& self,
                                             c10::intrusive_ptr<c10d::Store> store) {
  return c10::make_intrusive<c10d::PrefixStore>(
      absl::StrCat(self.job.value(), "/", self.attempt.value()), std::move(store));
}

struct Listener {
  FileDescriptor socket;
  uint16_t port = 0;
};

absl::StatusOr<uint16_t> PortOf(int socket) {
  sockaddr_storage name = {};
  socklen_t size = sizeof(name);
  char port[NI_MAXSERV];
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&name), size, nullptr, 0, port, sizeof(port),
                  NI_NUMERICSERV) != 0) {
    return absl::InternalError("cannot read the port of the master's socket");
  }
  return static_cast<uint16_t>(std::stoi(port));
}

absl::StatusOr<Listener> ListenOn(const std::string& address) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), "0", &hints, &found) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", address, "' is not a numeric address"));
  }
  const auto free_found = absl::MakeCleanup([found] { freeaddrinfo(found); });

  Listener listener;
  listener.socket.Reset(socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0));
  if (!listener.socket.valid() ||
      bind(listener.socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(listener.socket.get(), SOMAXCONN) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, ": ", std::strerror(errno)));
  }
  absl::StatusOr<uint16_t> port = PortOf(listener.socket.get());
  if (!port.ok()) return port.status();
  listener.port = *port;
  return listener;
}

absl::Status CheckOwner(const Membership& self, c10d::Store& store, const std::string& where) {
  const std::string owner = store.get_to_str(kOwnerKey);
  if (owner == OwnerText(self)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the store at ", where, " belongs to ", owner, ", not to ", OwnerText(self)));
}

// At most three are named.
std::string MissingRanks(const Membership& self, c10d::Store& store) {
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < self.world_size; ++rank) {
    if (!store.check({ArrivedKey(rank)})) missing.push_back(rank);
  }
  const size_t named = std::min<size_t>(missing.size(), 3);
  const std::string names =
      absl::StrJoin(missing.begin(), missing.begin() + named, ", ",
                    [](std::string* out, uint32_t rank) { absl::StrAppend(out, "rank ", rank); });
  const std::string more =
      missing.size() > named ? absl::StrCat(" and ", missing.size() - named, " more") : "";
  return absl::StrCat(names, more, " of ", self.world_size);
}

}  // namespace

Rendezvous::Rendezvous(Membership self, uint16_t port, c10::intrusive_ptr<c10d::Store> store)
    : self_(std::move(self)), port_(port), store_(std::move(store)) {}

Rendezvous::~Rendezvous() = default;

absl::StatusOr<std::unique_ptr<Rendezvous>> Rendezvous::Host(Membership self,
                                                             const std::string& address) {
  if (self.rank != Rank(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(RankText(self.rank.value(), self), " cannot host: rank 0 does"));
  }
  absl::StatusOr<Listener> listener = ListenOn(address);
  if (!listener.ok()) return listener.status();
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.waitWorkers = false;
  options.port = listener->port;
  options.masterListenFd = listener->socket.Release();
  try {
    c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::TCPStore>(address, options);
    store->set(kOwnerKey, OwnerText(self));
    auto attempt_store = AttemptStore(self, std::move(store));
    return std::unique_ptr<Rendezvous>(
        new Rendezvous(std::move(self), listener->port, std::move(attempt_store)));
  } catch (const std::exception& error) {
    return StatusFromException(
        error, absl::StrCat("rank 0 cannot serve the store at ", address, ":", listener->port));
  }
}

absl::StatusOr<std::unique_ptr<Rendezvous>> Rendezvous::Connect(Membership self,
                                                                const std::string& address,
                                                                uint16_t port,
                                                                absl::Duration timeout) {
  if (self.rank == Rank(0)) {
    return absl::InvalidArgumentError("rank 0 cannot connect: it hosts");
  }
  c10d::TCPStoreOptions options;
  options.waitWorkers = false;
  options.port = port;
  options.timeout = absl::ToChronoMilliseconds(timeout);
  const std::string where = absl::StrCat(address, ":", port);
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(address, options);
    if (absl::Status status = CheckOwner(self, *store, where); !status.ok()) return status;
    auto attempt_store = AttemptStore(self, std::move(store));
    return std::unique_ptr<Rendezvous>(
        new Rendezvous(std::move(self), port, std::move(attempt_store)));
  } catch (const std::exception& error) {
    return StatusFromException(error, absl::StrCat(RankText(self.rank.value(), self),
                                                   " cannot reach the store of rank 0 at ", where));
  }
}

absl::Status Rendezvous::AwaitAll(absl::Duration timeout) {
  const std::string me = RankText(self_.rank.value(), self_);
  std::vector<std::string> everyone;
  for (uint32_t rank = 0; rank < self_.world_size; ++rank) everyone.push_back(ArrivedKey(rank));
  try {
    if (store_->add(ArrivedKey(self_.rank.value()), 1) != 1) {
      return absl::AlreadyExistsError(absl::StrCat("another process is already ", me));
    }
    try {
      store_->wait(everyone, absl::ToChronoMilliseconds(timeout));
    } catch (const c10::DistStoreError&) {
      return absl::DeadlineExceededError(absl::StrCat(me, " waited ", absl::FormatDuration(timeout),
                                                      " and ", MissingRanks(self_, *store_),
                                                      " did not arrive"));
    }
  } catch (const std::exception& error) {
    return StatusFromException(error, absl::StrCat(me, " lost the store of rank 0"));
  }
  return absl::OkStatus();
}

}  // namespace tandem::ddp
