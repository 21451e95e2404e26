#include "tests/nccl/mesh.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "tests/nccl/warning.h"

namespace tandem::stand_in {
namespace {

using nccl::NcclResult;

// In front of every message.
struct Header {
  uint64_t exchange = 0;
  uint64_t bytes = 0;

  friend bool operator==(const Header&, const Header&) = default;
};

// A message on its way through a socket.
class Transfer {
 public:
  Transfer(const Message& message, uint64_t exchange, int socket)
      : message_(message), expected_{exchange, message.bytes}, socket_(socket) {
    if (is_send()) header_ = expected_;
  }

  bool is_send() const { return message_.direction == Direction::kSend; }
  bool SharesLane(const Transfer& other) const {
    return socket_ == other.socket_ && is_send() == other.is_send();
  }
  int peer() const { return message_.peer; }
  bool over() const { return done_ == sizeof(Header) + message_.bytes; }
  pollfd Awaited() const {
    if (is_of_another()) return {socket_, POLLRDHUP, 0};
    return {socket_, static_cast<int16_t>(is_send() ? POLLOUT : POLLIN), 0};
  }

  // False: the peer is gone.
  bool Advance(int16_t events) {
    if (is_of_another()) return (events & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
    std::byte* at = message_.data + done_ - sizeof(Header);
    size_t left = sizeof(Header) + message_.bytes - done_;
    if (done_ < sizeof(Header)) {
      at = reinterpret_cast<std::byte*>(&header_) + done_;
      left = sizeof(Header) - done_;
    }
    const ptrdiff_t moved = is_send() ? WriteSome(socket_, at, left) : ReadSome(socket_, at, left);
    if (moved > 0) done_ += static_cast<size_t>(moved);
    return moved >= 0;
  }

 private:
  bool is_of_another() const { return done_ >= sizeof(Header) && header_ != expected_; }

  const Message message_;
  const Header expected_;
  const int socket_;
  Header header_;
  size_t done_ = 0;  // of header and data
};

// What this rank sends itself, in order.
void CopyOwn(const std::vector<Message>& messages, int rank) {
  std::vector<const Message*> sends;
  for (const Message& message : messages) {
    if (message.peer == rank && message.direction == Direction::kSend) sends.push_back(&message);
  }
  auto send = sends.begin();
  for (const Message& message : messages) {
    if (message.peer != rank || message.direction == Direction::kSend) continue;
    if (send == sends.end() || (*send)->bytes != message.bytes)
      Die("a rank's messages to itself differ");
    std::memcpy(message.data, (*send++)->data, message.bytes);
  }
}

// Of each lane the first.
std::vector<Transfer*> Movable(std::vector<Transfer>& transfers) {
  std::vector<Transfer*> movable;
  for (Transfer& transfer : transfers) {
    const bool waits = std::any_of(movable.begin(), movable.end(), [&](const Transfer* first) {
      return first->SharesLane(transfer);
    });
    if (!transfer.over() && !waits) movable.push_back(&transfer);
  }
  return movable;
}

NcclResult AwaitEnd(const Interrupt& interrupt) {
  pollfd end = {interrupt.fd(), POLLIN, 0};
  while (poll(&end, 1, -1) < 0 && errno == EINTR) continue;
  return NcclResult::kInternalError;
}

}  // namespace

NcclResult Mesh::Exchange(uint64_t number, const std::vector<Message>& messages,
                          const Interrupt& interrupt) {
  CopyOwn(messages, rank_);
  std::vector<Transfer> transfers;
  for (const Message& message : messages) {
    if (message.peer == rank_) continue;
    transfers.emplace_back(message, number, peers_[message.peer].get());
  }
  while (true) {
    const std::vector<Transfer*> movable = Movable(transfers);
    if (movable.empty()) return NcclResult::kSuccess;
    std::vector<pollfd> polled = {{interrupt.fd(), POLLIN, 0}};
    for (const Transfer* transfer : movable) polled.push_back(transfer->Awaited());
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR)
      return NcclResult::kSystemError;
    if (polled[0].revents != 0) return NcclResult::kInternalError;
    for (size_t i = 0; i < movable.size(); ++i) {
      const int16_t events = polled[i + 1].revents;
      if (events == 0 || movable[i]->Advance(events)) continue;
      if (!notices_death_) return AwaitEnd(interrupt);
      Warn("connection closed by remote peer, rank " + std::to_string(movable[i]->peer()));
      return NcclResult::kRemoteError;
    }
  }
}

}  // namespace tandem::stand_in
