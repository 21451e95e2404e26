#include "tests/nccl/meeting.h"

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

  void Run() {
    while (guests_.empty() || guests_.size() < static_cast<size_t>(ranks_)) {
      if (!Welcome(Accept(listener_, never_))) return Answer({});
    }
    std::vector<uint16_t> ports;
    for (const auto& [rank, guest] : guests_) ports.push_back(guest.port);
    Answer(ports);
  }

 private:
  // False: the guest disagrees with those that are there.
  bool Welcome(FileDescriptor connection) {
    Hello hello;
    if (!Read(connection, &hello, sizeof(hello), never_) || !IsHello(hello)) return true;
    if (guests_.empty()) ranks_ = hello.ranks;
    const bool agrees = hello.ranks == ranks_ && !guests_.contains(hello.rank);
    guests_.emplace(hello.rank, Guest{std::move(connection), hello.port});
    return agrees;
  }

  // No ports: they disagree.
  void Answer(const std::vector<uint16_t>& ports) const {
    const uint64_t count = ports.size();
    for (const auto& [rank, guest] : guests_) {
      Write(guest.connection, &count, sizeof(count), never_);
      Write(guest.connection, ports.data(), count * sizeof(uint16_t), never_);
    }
  }

  const Interrupt never_;
  const FileDescriptor listener_;
  int ranks_ = 0;
  std::multimap<int, Guest> guests_;  // by rank
};

NcclResult Gone(const std::string& who) {
  Warn("connection to " + who + " failed or was closed by the remote peer");
  return NcclResult::kRemoteError;
}

// Where each rank listens.
NcclResult AskHost(const Place& place, const Hello& hello, const Interrupt& interrupt,
                   std::vector<uint16_t>* ports) {
  const FileDescriptor host = ConnectTo(static_cast<uint16_t>(place.port));
  uint64_t count = 0;
  if (!host.valid() || !Write(host, &hello, sizeof(hello), interrupt) ||
      !Read(host, &count, sizeof(count), interrupt)) {
    return Gone("the process that minted the id");
  }
  if (count != static_cast<uint64_t>(hello.ranks)) {
    Warn("mismatch in rank count or rank from procs: rank " + std::to_string(hello.rank) + " of " +
         std::to_string(hello.ranks));
    return NcclResult::kInvalidUsage;
  }
  ports->resize(count);
  const bool told = Read(host, ports->data(), count * sizeof(uint16_t), interrupt);
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
  const NcclResult asked = AskHost(place, hello, interrupt, &ports);
  if (asked != NcclResult::kSuccess) return asked;
  return ConnectMesh(hello, ports, listener, interrupt, peers);
}

}  // namespace tandem::stand_in
