#include "worker/ddp/local_transport.h"

#include <algorithm>
#include <utility>

namespace tandem::ddp {
namespace {

class FinishedExchange : public PendingExchange {
 public:
  explicit FinishedExchange(absl::Status status) : status_(std::move(status)) {}
  absl::Status Wait() override { return status_; }

 private:
  const absl::Status status_;
};

}  // namespace

std::unique_ptr<PendingExchange> LocalTransport::StartAllGather(absl::Span<std::byte> slots) {
  return std::make_unique<FinishedExchange>(State());
}

std::unique_ptr<PendingExchange> LocalTransport::StartAllToAll(absl::Span<const std::byte> send,
                                                               absl::Span<std::byte> receive) {
  std::copy(send.begin(), send.end(), receive.begin());
  return std::make_unique<FinishedExchange>(State());
}

std::unique_ptr<PendingExchange> LocalTransport::StartAllReduceSum(absl::Span<float> values) {
  return std::make_unique<FinishedExchange>(State());
}

absl::Status LocalTransport::State() const {
  return aborted_ ? absl::CancelledError("the exchange was aborted") : absl::OkStatus();
}

}  // namespace tandem::ddp
