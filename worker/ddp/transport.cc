#include "worker/ddp/transport.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tandem::ddp {
namespace {

absl::Span<std::byte> BytesOf(std::vector<float>& values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)};
}

// Each rank adds one of world_size shares, the last of which may be shorter.
class AllReduceByShares : public PendingExchange {
 public:
  AllReduceByShares(Transport& transport, absl::Span<float> values)
      : transport_(transport),
        values_(values),
        share_((values.size() + transport.world_size() - 1) / transport.world_size()),
        own_(values.begin(), values.end()),
        received_(share_ * transport.world_size()) {
    own_.resize(received_.size());
    shares_sent_ = transport.StartAllToAll(BytesOf(own_), BytesOf(received_));
  }

  absl::Status Wait() override {
    if (absl::Status status = shares_sent_->Wait(); !status.ok()) return status;
    AddShares(own_.data() + transport_.rank().value() * share_);
    if (absl::Status status = transport_.AllGather(BytesOf(own_)); !status.ok()) return status;
    std::copy_n(own_.begin(), values_.size(), values_.begin());
    return absl::OkStatus();
  }

 private:
  void AddShares(float* sum) const {
    std::copy_n(received_.begin(), share_, sum);
    for (uint32_t rank = 1; rank < transport_.world_size(); ++rank) {
      const float* addend = received_.data() + rank * share_;
      for (size_t i = 0; i < share_; ++i) sum[i] += addend[i];
    }
  }

  Transport& transport_;
  const absl::Span<float> values_;
  const size_t share_;
  std::vector<float> own_;  // then the sums
  std::vector<float> received_;
  std::unique_ptr<PendingExchange> shares_sent_;
};

}  // namespace

std::unique_ptr<PendingExchange> Transport::StartAllReduceSum(absl::Span<float> values) {
  return std::make_unique<AllReduceByShares>(*this, values);
}

}  // namespace tandem::ddp
