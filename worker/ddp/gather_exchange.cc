#include <utility>

#include "worker/ddp/bucket_exchange.h"
#include "worker/ddp/rank_blocks.h"

namespace tandem::ddp {
namespace {

class GatherExchange : public BucketExchange {
 public:
  GatherExchange(Transport& transport, device::Device* device, const BucketIdentity& identity,
                 const FlatLayout& layout)
      : rank_(transport.rank()),
        layout_(layout),
        slots_(transport, identity,
               MaxBlocksPerRank(transport.world_size(), identity.logical_ranks), layout.options()),
        blocks_(device, transport.world_size(), identity.logical_ranks,
                [this](Rank rank, size_t block) {
                  return FlatGradient{slots_.values(rank, block), slots_.present(rank, block)};
                }) {}

  FlatGradient own(size_t index) const override { return blocks_.of(rank_)[index]; }
  void Start(uint64_t step) override { slots_.Start(step); }
  absl::Status Add(float scale) override {
    if (absl::Status status = slots_.Wait(); !status.ok()) return status;
    return blocks_.Add(layout_, scale);
  }
  absl::Status Wait() override { return absl::OkStatus(); }
  FlatGradient sum() const override { return blocks_.sum(); }

 private:
  const Rank rank_;
  const FlatLayout layout_;
  BucketSlots slots_;
  RankBlocks blocks_;  // views of the slots
};

}  // namespace

std::unique_ptr<BucketExchange> MakeGatherExchange(Transport& transport, device::Device* device,
                                                   const BucketIdentity& identity,
                                                   const FlatLayout& layout) {
  return std::make_unique<GatherExchange>(transport, device, identity, layout);
}

}  // namespace tandem::ddp
