#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "worker/ddp/bucket_exchange.h"
#include "worker/ddp/rank_blocks.h"

namespace tandem::ddp {
namespace {

// The elements are cut into a shard per rank, of equal size, the last ones perhaps beyond the end.
// Block buffers are shards one behind the other, so that nothing is packed for sending: one
// all-to-all for each of the blocks that a rank has (one, if W is a power of two), and the sums
// come back into the buffer of the first block.
class ShardExchange : public BucketExchange {
 public:
  ShardExchange(Transport& transport, device::Device* device, const BucketIdentity& identity,
                const FlatLayout& layout)
      : transport_(transport),
        elements_(layout.elements()),
        shard_((layout.elements() + transport.world_size() - 1) / transport.world_size()),
        own_shard_(layout.Slice(ShardBegin(), ShardEnd())),
        slots_(transport, identity,
               MaxBlocksPerRank(transport.world_size(), identity.logical_ranks)),
        own_(MakeBuffers(identity.logical_ranks, layout.options())),
        received_(MakeBuffers(identity.logical_ranks, layout.options())),
        blocks_(device, transport.world_size(), identity.logical_ranks,
                [this](Rank rank, size_t block) {
                  return FlatGradient{ShardOf(received_[block], rank), slots_.present(rank, block)};
                }) {}

  FlatGradient own(size_t index) const override {
    return {own_[index].narrow(0, 0, elements_), slots_.present(transport_.rank(), index)};
  }

  void Start(uint64_t step) override {
    slots_.Start(step);
    for (size_t block = 0; block < own_.size(); ++block) {
      shards_.push_back(transport_.StartAllToAll(BytesOf(own_[block]), BytesOf(received_[block])));
    }
  }

  absl::Status Add(float scale) override {
    if (absl::Status status = slots_.Wait(); !status.ok()) return status;
    for (auto& exchange : std::exchange(shards_, {})) {
      if (absl::Status status = slots_.WaitFor(std::move(exchange)); !status.ok()) return status;
    }
    if (absl::Status status = blocks_.Add(own_shard_, scale); !status.ok()) return status;
    ShardOf(own_[0], transport_.rank()).copy_(blocks_.sum().values);
    sums_ = transport_.StartAllGather(BytesOf(own_[0]));
    return absl::OkStatus();
  }

  absl::Status Wait() override { return slots_.WaitFor(std::move(sums_)); }

  FlatGradient sum() const override {
    return {own_[0].narrow(0, 0, elements_), blocks_.sum().present};
  }

 private:
  int64_t ShardBegin() const { return std::min(elements_, shard_ * transport_.rank().value()); }
  int64_t ShardEnd() const { return std::min(elements_, ShardBegin() + shard_); }

  std::vector<at::Tensor> MakeBuffers(uint32_t logical_ranks,
                                      const at::TensorOptions& options) const {
    std::vector<at::Tensor> buffers(MaxBlocksPerRank(transport_.world_size(), logical_ranks));
    for (at::Tensor& buffer : buffers) {
      buffer = at::zeros({shard_ * transport_.world_size()}, options);
    }
    return buffers;
  }

  // What rank sent, or what it shall get.
  at::Tensor ShardOf(const at::Tensor& buffer, Rank rank) const {
    return buffer.narrow(0, shard_ * rank.value(), shard_);
  }

  static absl::Span<std::byte> BytesOf(const at::Tensor& buffer) {
    return {static_cast<std::byte*>(buffer.mutable_data_ptr()), buffer.nbytes()};
  }

  // Constant after construction.
  Transport& transport_;
  const int64_t elements_;
  const int64_t shard_;
  const FlatLayout own_shard_;
  BucketSlots slots_;
  const std::vector<at::Tensor> own_;       // by block
  const std::vector<at::Tensor> received_;  // by block
  RankBlocks blocks_;                       // of this rank's shard: views of what is received

  std::vector<std::unique_ptr<PendingExchange>> shards_;  // by block
  std::unique_ptr<PendingExchange> sums_;
};

}  // namespace

std::unique_ptr<BucketExchange> MakeShardExchange(Transport& transport, device::Device* device,
                                                  const BucketIdentity& identity,
                                                  const FlatLayout& layout) {
  return std::make_unique<ShardExchange>(transport, device, identity, layout);
}

}  // namespace tandem::ddp
