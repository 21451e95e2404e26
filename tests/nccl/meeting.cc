#include "tests/nccl/meeting.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "tests/nccl/warning.h"

namespace tandem::stand_in {
namespace {

using nccl::NcclResult;
using nccl::NcclUniqueId;

constexpr char kMark[8] = "standin";

// What an id says.
struct Place {
  char mark[sizeof(kMark)] = {};
  uint64_t port = 0;
};

// What each rank says to whom it connects.
struct Hello {
  char mark[sizeof(kMark)] = "standin";
  int ranks = 0;
  int rank = 0;
  uint16_t port = 0;  // where it listens
};

bool IsHello(const Hello& hello) { return std::memcmp(hello.mark, kMark, sizeof(kMark)) == 0; }

struct Guest {
  FileDescriptor connection;
  uint16_t port = 0;
};

// Runs in the process that minted the id.
class Host {
 public:
  explicit Host(FileDescriptor listener) : listener_(std::move(listener)) {}

  // Guests that disagree are never answered, as by NCCL, which warns and leaves them to wait.
  void Run() {
    while (!agree_ || guests_.empty() || guests_.size() < static_cast<size_t>(ranks_)) {
      Welcome(Accept(listener_, never_));
    }
    std::vector<uint16_t> ports;
    for (const auto& [rank, guest] : guests_) ports.push_back(guest.port);
    for (const auto& [rank, guest] : guests_) {
      Write(guest.connection, ports.data(), ports.size() * sizeof(uint16_t), never_);
    }
  }

 private:
  void Welcome(FileDescriptor connection) {
    Hello hello;
    if (!Read(connection, &hello, sizeof(hello), never_) || !IsHello(hello)) return;
    if (guests_.empty()) ranks_ = hello.ranks;
    if (hello.ranks != ranks_ || guests_.contains(hello.rank)) {
      Warn("mismatch in rank count or rank from procs: rank " + std::to_string(hello.rank) +
           " of " + std::to_string(hello.ranks));
      agree_ = false;
    }
    guests_.emplace(hello.rank, Guest{std::move(connection), hello.port});
  }

  const Interrupt never_;
  const FileDescriptor listener_;
  int ranks_ = 0;
  bool agree_ = true;
  std::multimap<int, Guest> guests_;  // by rank
};

NcclResult Gone(const std::string& who) {
  Warn("connection to " + who + " failed or was closed by the remote peer");
  return NcclResult::kRemoteError;
}

// Where each rank listens.
NcclResult AskHost(const Place& place, Party self, const Hello& hello, const Interrupt& interrupt,
                   std::vector<uint16_t>* ports) {
  const FileDescriptor host = ConnectTo(static_cast<uint16_t>(place.port));
  if (!host.valid() || !Write(host, &hello, sizeof(hello), interrupt)) {
    return Gone("the process that minted the id");
  }
  if (self.dies_checked_in) raise(SIGKILL);
  ports->resize(hello.ranks);
  const bool told = Read(host, ports->data(), ports->size() * sizeof(uint16_t), interrupt);
  return told ? NcclResult::kSuccess : Gone("the process that minted the id");
}

// Each rank connects to those below it, and accepts those above.
NcclResult ConnectMesh(const Hello& hello, const std::vector<uint16_t>& ports,
                       const FileDescriptor& listener, const Interrupt& interrupt,
                       std::vector<FileDescriptor>* peers) {
  peers->resize(ports.size());
  for (int below = 0; below < hello.rank; ++below) {
    FileDescriptor& peer = (*peers)[below];
    peer = ConnectTo(ports[below]);
    if (!peer.valid() || !Write(peer, &hello, sizeof(hello), interrupt)) {
      return Gone("rank " + std::to_string(below));
    }
  }
  for (int above = hello.rank + 1; above < hello.ranks; ++above) {
    FileDescriptor connection = Accept(listener, interrupt);
    Hello other;
    if (!connection.valid() || !Read(connection, &other, sizeof(other), interrupt)) {
      return Gone("a rank above " + std::to_string(hello.rank));
    }
    (*peers)[other.rank] = std::move(connection);
  }
  return NcclResult::kSuccess;
}

}  // namespace

NcclResult Mint(NcclUniqueId* id) {
  uint16_t port = 0;
  FileDescriptor listener = Listen(&port);
  if (!listener.valid()) {
    Warn("Bootstrap : no socket interface found");
    return NcclResult::kInvalidUsage;
  }
  Place place;
  std::memcpy(place.mark, kMark, sizeof(kMark));
  place.port = port;
  *id = {};
  std::memcpy(id->bytes, &place, sizeof(place));
  std::thread([listener = std::move(listener)]() mutable {
    Host(std::move(listener)).Run();
  }).detach();
  return NcclResult::kSuccess;
}

NcclResult Meet(const NcclUniqueId& id, Party self, const Interrupt& interrupt,
                std::vector<FileDescriptor>* peers) {
  Place place;
  std::memcpy(&place, id.bytes, sizeof(place));
  if (std::memcmp(place.mark, kMark, sizeof(kMark)) != 0) {
    Warn("the unique id names no address to connect to");
    return NcclResult::kInternalError;
  }
  Hello hello;
  hello.ranks = self.ranks;
  hello.rank = self.rank;
  const FileDescriptor listener = Listen(&hello.port);
  std::vector<uint16_t> ports;
  const NcclResult asked = AskHost(place, self, hello, interrupt, &ports);
  if (asked != NcclResult::kSuccess) return asked;
  return ConnectMesh(hello, ports, listener, interrupt, peers);
}

}  // namespace tandem::stand_in
