#include "worker/ddp/gloo_transport.h"

#include <algorithm>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "worker/ddp/gloo_messages.h"
#include "worker/ddp/local_transport.h"
#include "worker/ddp/torch_status.h"

namespace tandem::ddp {
namespace {

template <typename Byte>
absl::Span<Byte> Slot(absl::Span<Byte> slots, size_t slot_bytes, uint32_t rank) {
  return slots.subspan(rank * slot_bytes, slot_bytes);
}

class GlooExchange : public PendingExchange {
 public:
  explicit GlooExchange(std::shared_ptr<GlooMessages> messages) : messages_(std::move(messages)) {}
  absl::Status Wait() override { return messages_ ? messages_->Wait() : AbortedStatus(); }

 private:
  const std::shared_ptr<GlooMessages> messages_;  // null: aborted before it began
};

class GlooTransport : public Transport {
 public:
  GlooTransport(const Membership& self, absl::Duration exchange_timeout, GlooMessages::Gloo gloo)
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
    const auto exchange = Start([&](GlooMessages& messages) {
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
    for (const std::weak_ptr<GlooMessages>& weak : live_) {
      if (const auto messages = weak.lock()) messages->Abort();
    }
  }

 private:
  // Receives a slot from every peer, and sends `for_peer(rank)` to each.
  template <typename ForPeer>
  std::unique_ptr<PendingExchange> StartWithEveryPeer(absl::Span<std::byte> receive,
                                                      const ForPeer& for_peer) {
    const size_t slot_bytes = receive.size() / world_size_;
    return Start([&](GlooMessages& messages) {
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
    auto messages = std::make_shared<GlooMessages>(gloo_, exchanges_++, exchange_timeout_);
    post(*messages);
    std::erase_if(live_, [](const std::weak_ptr<GlooMessages>& weak) { return weak.expired(); });
    live_.push_back(messages);
    return std::make_unique<GlooExchange>(std::move(messages));
  }

  const Rank rank_;
  const uint32_t world_size_;
  const absl::Duration exchange_timeout_;
  const GlooMessages::Gloo gloo_;

  absl::Mutex mutex_;
  bool aborted_ ABSL_GUARDED_BY(mutex_) = false;
  // The same on every rank, because all start the same exchanges in the same order.
  uint64_t exchanges_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::weak_ptr<GlooMessages>> live_
      ABSL_GUARDED_BY(mutex_);  // those under way, and stale ones
};

GlooMessages::Gloo ConnectMesh(const Rendezvous& rendezvous, const GlooOptions& options) {
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
