#include "worker/ddp/gloo_transport.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <chrono>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "common/keyed_hash.h"
#include "worker/ddp/local_transport.h"
#include "worker/ddp/torch_status.h"

namespace tandem::ddp {
namespace {

absl::Status AbortedStatus() { return absl::CancelledError("the exchange was aborted"); }

// Owns nothing: the bytes outlive it. Only a receive writes to them.
at::Tensor ViewOf(absl::Span<const std::byte> bytes) {
  return at::from_blob(const_cast<std::byte*>(bytes.data()), {static_cast<int64_t>(bytes.size())},
                       at::kByte);
}

template <typename Byte>
absl::Span<Byte> Slot(absl::Span<Byte> slots, size_t slot_bytes, uint32_t rank) {
  return slots.subspan(rank * slot_bytes, slot_bytes);
}

using Gloo = c10::intrusive_ptr<c10d::ProcessGroupGloo>;

// The sends and receives of one exchange, moved by Gloo's device thread. Messages between each two
// ranks rather than one of Gloo's collectives: they can be aborted, and an error names its peer.
// The bytes on the wire are those of a ring.
//
// Behind every message goes an end mark with its size, and all end marks are waited for first:
//  - Gloo does not tell a receive that has begun when its connection closes, only those that wait
//    for their turn, as the end mark then does.
//  - A message that is larger than the receive it meets would end the process. Sizes are part of
//    the tag, so that it meets none, and the end mark tells.
class Messages {
 public:
  // `number` is that of the exchange, the same on both ends.
  Messages(Gloo gloo, uint64_t number, absl::Duration timeout)
      : gloo_(std::move(gloo)),
        end_tag_(static_cast<int>(number % kNumbers * kTagsPerNumber)),
        timeout_(absl::ToChronoMilliseconds(timeout)) {}

  void Send(absl::Span<const std::byte> data, uint32_t peer) {
    Post("sending to", peer, data, [this, peer](std::vector<at::Tensor>& bytes, int tag) {
      return gloo_->send(bytes, static_cast<int>(peer), tag);
    });
  }

  void Receive(absl::Span<std::byte> data, uint32_t peer) {
    Post("receiving from", peer, data, [this, peer](std::vector<at::Tensor>& bytes, int tag) {
      return gloo_->recv(bytes, static_cast<int>(peer), tag);
    });
  }

  absl::Status Wait() const {
    if (!post_status_.ok()) return post_status_;
    for (const Message& message : messages_) {
      if (absl::Status status = WaitForEnd(message); !status.ok()) return status;
    }
    for (const Message& message : messages_) {
      if (absl::Status status = WaitFor(*message.data, message); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Any thread, also while another is in Wait.
  void Abort() const {
    for (const Message& message : messages_) {
      message.data->abort();
      message.end->abort();
    }
  }

 private:
  // Of the positive values of an int. There never are that many exchanges under way.
  static constexpr uint64_t kNumbers = uint64_t{1} << 12;
  static constexpr uint64_t kTagsPerNumber = uint64_t{1} << 18;

  struct Message {
    const char* direction;
    uint32_t peer;
    uint64_t bytes;
    std::unique_ptr<uint64_t> end_mark;  // the size on the other side
    c10::intrusive_ptr<c10d::Work> data;
    c10::intrusive_ptr<c10d::Work> end;
  };

  template <typename PostBytes>
  void Post(const char* direction, uint32_t peer, absl::Span<const std::byte> data,
            const PostBytes& post) {
    if (!post_status_.ok()) return;
    auto end_mark = std::make_unique<uint64_t>(data.size());
    std::vector<at::Tensor> bytes = {ViewOf(data)};
    std::vector<at::Tensor> end = {
        ViewOf({reinterpret_cast<const std::byte*>(end_mark.get()), sizeof(*end_mark)})};
    try {
      messages_.push_back({direction, peer, data.size(), std::move(end_mark),
                           post(bytes, DataTag(data.size())), post(end, end_tag_)});
    } catch (const std::exception& error) {
      post_status_ = Failure(error, direction, peer);
    }
  }

  int DataTag(uint64_t bytes) const {
    return end_tag_ + 1 + static_cast<int>(Scramble(bytes) % (kTagsPerNumber - 1));
  }

  absl::Status WaitForEnd(const Message& message) const {
    if (absl::Status status = WaitFor(*message.end, message); !status.ok()) return status;
    if (*message.end_mark == message.bytes) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrFormat("rank %d is in another exchange, of %d bytes instead of %d; see its log",
                        message.peer, *message.end_mark, message.bytes));
  }

  absl::Status WaitFor(c10d::Work& work, const Message& message) const {
    try {
      return work.wait(timeout_) ? absl::OkStatus() : AbortedStatus();
    } catch (const std::exception& error) {
      return Failure(error, message.direction, message.peer);
    }
  }

  static absl::Status Failure(const std::exception& error, const char* direction, uint32_t peer) {
    return StatusFromException(error, absl::StrFormat("%s rank %d failed", direction, peer));
  }

  const Gloo gloo_;
  const int end_tag_;
  const std::chrono::milliseconds timeout_;
  absl::Status post_status_;
  std::vector<Message> messages_;
};

class GlooExchange : public PendingExchange {
 public:
  explicit GlooExchange(std::shared_ptr<Messages> messages) : messages_(std::move(messages)) {}
  absl::Status Wait() override { return messages_ ? messages_->Wait() : AbortedStatus(); }

 private:
  const std::shared_ptr<Messages> messages_;  // null: aborted before it began
};

class GlooTransport : public Transport {
 public:
  GlooTransport(const Membership& self, absl::Duration exchange_timeout, Gloo gloo)
      : rank_(self.rank),
        world_size_(self.world_size),
        exchange_timeout_(exchange_timeout),
        gloo_(std::move(gloo)) {}

  Rank rank() const override { return rank_; }
  uint32_t world_size() const override { return world_size_; }

  std::unique_ptr<PendingExchange> StartAllGather(absl::Span<std::byte> slots) override {
    const size_t slot_bytes = slots.size() / world_size_;
    const auto own = Slot(slots, slot_bytes, rank_.value());
    return StartWithEveryPeer(slots, [own](uint32_t) { return own; });
  }

  std::unique_ptr<PendingExchange> StartAllToAll(absl::Span<const std::byte> send,
                                                 absl::Span<std::byte> receive) override {
    const size_t slot_bytes = send.size() / world_size_;
    const auto own = Slot(send, slot_bytes, rank_.value());
    std::copy(own.begin(), own.end(), Slot(receive, slot_bytes, rank_.value()).begin());
    return StartWithEveryPeer(receive, [=](uint32_t rank) { return Slot(send, slot_bytes, rank); });
  }

  absl::Status Broadcast(absl::Span<std::byte> data, Rank root) override {
    const auto exchange = Start([&](Messages& messages) {
      if (rank_ != root) return messages.Receive(data, root.value());
      for (uint32_t rank = 0; rank < world_size_; ++rank) {
        if (rank != root.value()) messages.Send(data, rank);
      }
    });
    return exchange->Wait();
  }

  absl::Status Barrier() override {
    std::vector<std::byte> slots(world_size_);
    return AllGather(absl::MakeSpan(slots));
  }

  void Abort() override {
    absl::MutexLock lock(&mutex_);
    aborted_ = true;
    for (const std::weak_ptr<Messages>& weak : live_) {
      if (const auto messages = weak.lock()) messages->Abort();
    }
  }

 private:
  // Receives a slot from every peer, and sends `for_peer(rank)` to each.
  template <typename ForPeer>
  std::unique_ptr<PendingExchange> StartWithEveryPeer(absl::Span<std::byte> receive,
                                                      const ForPeer& for_peer) {
    const size_t slot_bytes = receive.size() / world_size_;
    return Start([&](Messages& messages) {
      // Every rank begins with its right neighbour, so that not all write to one at the same time.
      for (uint32_t i = 1; i < world_size_; ++i) {
        const uint32_t from = (rank_.value() + world_size_ - i) % world_size_;
        const uint32_t to = (rank_.value() + i) % world_size_;
        messages.Receive(Slot(receive, slot_bytes, from), from);
        messages.Send(for_peer(to), to);
      }
    });
  }

  // `post` posts the messages of one exchange.
  template <typename Post>
  std::unique_ptr<PendingExchange> Start(const Post& post) {
    absl::MutexLock lock(&mutex_);
    if (aborted_) return std::make_unique<GlooExchange>(nullptr);
    auto messages = std::make_shared<Messages>(gloo_, exchanges_++, exchange_timeout_);
    post(*messages);
    std::erase_if(live_, [](const std::weak_ptr<Messages>& weak) { return weak.expired(); });
    live_.push_back(messages);
    return std::make_unique<GlooExchange>(std::move(messages));
  }

  const Rank rank_;
  const uint32_t world_size_;
  const absl::Duration exchange_timeout_;
  const Gloo gloo_;

  absl::Mutex mutex_;
  bool aborted_ ABSL_GUARDED_BY(mutex_) = false;
  // The same on every rank, because all start the same exchanges in the same order.
  uint64_t exchanges_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::weak_ptr<Messages>> live_
      ABSL_GUARDED_BY(mutex_);  // those under way, and stale ones
};

Gloo ConnectMesh(const Rendezvous& rendezvous, const GlooOptions& options) {
  auto gloo_options =
      c10d::ProcessGroupGloo::Options::create(absl::ToChronoMilliseconds(options.connect_timeout));
  gloo_options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(options.address)};
  gloo_options->threads = 1;  // runs collectives, of which there are none
  const Membership& self = rendezvous.membership();
  return c10::make_intrusive<c10d::ProcessGroupGloo>(
      rendezvous.store(), static_cast<int>(self.rank.value()), static_cast<int>(self.world_size),
      std::move(gloo_options));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> ConnectGloo(const Rendezvous& rendezvous,
                                                       const GlooOptions& options) {
  const Membership& self = rendezvous.membership();
  if (self.world_size == 1) return std::make_unique<LocalTransport>();
  try {
    return std::make_unique<GlooTransport>(self, options.exchange_timeout,
                                           ConnectMesh(rendezvous, options));
  } catch (const std::exception& error) {
    return StatusFromException(error, absl::StrFormat("rank %d cannot connect to its peers from %s",
                                                      self.rank.value(), options.address));
  }
}

}  // namespace tandem::ddp
