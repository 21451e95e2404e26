#include <ATen/ops/zeros.h>

#include <utility>

#include "worker/ddp/bucket_exchange.h"

namespace tandem::ddp {
namespace {

class AllReduceExchange : public BucketExchange {
 public:
  AllReduceExchange(Transport& transport, const BucketIdentity& identity, const FlatLayout& layout)
      : transport_(transport),
        layout_(layout),
        slots_(transport, identity, /*blocks=*/1),
        sum_{at::zeros({layout.elements()}, layout.options()),
             slots_.present(transport.rank(), 0)} {}

  FlatGradient own(size_t index) const override { return sum_; }

  void Start(uint64_t step) override {
    layout_.ZeroAbsent(sum_);
    slots_.Start(step);
    values_ = transport_.StartAllReduceSum(
        {sum_.values.mutable_data_ptr<float>(), static_cast<size_t>(layout_.elements())});
  }

  absl::Status Add(float scale) override {
    if (absl::Status status = slots_.Wait(); !status.ok()) return status;
    for (uint32_t rank = 0; rank < transport_.world_size(); ++rank) {
      const uint8_t* present = slots_.present(Rank(rank), 0);
      for (size_t i = 0; i < layout_.segments(); ++i) sum_.present[i] |= present[i];
    }
    if (absl::Status status = slots_.WaitFor(std::move(values_)); !status.ok()) return status;
    sum_.values.mul_(scale);
    return absl::OkStatus();
  }

  absl::Status Wait() override { return absl::OkStatus(); }
  FlatGradient sum() const override { return sum_; }

 private:
  // Constant after construction.
  Transport& transport_;
  const FlatLayout layout_;
  BucketSlots slots_;
  const FlatGradient sum_;  // the own one first, then that of all

  std::unique_ptr<PendingExchange> values_;
};

}  // namespace

std::unique_ptr<BucketExchange> MakeAllReduceExchange(Transport& transport,
                                                      const BucketIdentity& identity,
                                                      const FlatLayout& layout) {
  return std::make_unique<AllReduceExchange>(transport, identity, layout);
}

}  // namespace tandem::ddp
