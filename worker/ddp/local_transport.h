#pragma once

#include <atomic>
#include <memory>

#include "worker/ddp/transport.h"

namespace tandem::ddp {

// The transport of a world of one: every exchange is over before it began. Needs no network. What
// StartAllToAll is given is main memory.
class LocalTransport : public Transport {
 public:
  Rank rank() const override { return Rank(0); }
  uint32_t world_size() const override { return 1; }

  std::unique_ptr<PendingExchange> StartAllGather(absl::Span<std::byte> slots) override;
  std::unique_ptr<PendingExchange> StartAllToAll(absl::Span<const std::byte> send,
                                                 absl::Span<std::byte> receive) override;
  std::unique_ptr<PendingExchange> StartAllReduceSum(absl::Span<float> values) override;
  absl::Status Broadcast(absl::Span<std::byte> data, Rank root) override { return State(); }
  absl::Status Barrier() override { return State(); }
  void Abort() override { aborted_ = true; }

 private:
  absl::Status State() const;

  std::atomic<bool> aborted_{false};
};

}  // namespace tandem::ddp
