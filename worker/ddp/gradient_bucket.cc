#include "worker/ddp/gradient_bucket.h"

#include "common/logical_ranks.h"
#include "worker/ddp/flat_gradient.h"
#include "worker/ddp/reduction.h"

namespace tandem::ddp {
namespace {

// Of a block's values: less is sent to all at once, because another stage takes longer than the
// bytes it saves.
constexpr size_t kGatherBytes = size_t{64} << 10;

bool IsGathered(size_t bytes, uint32_t world_size, const GradientReducerOptions& options) {
  if (options.gather_bytes) return bytes <= *options.gather_bytes;
  return world_size <= 2 || bytes <= kGatherBytes;  // shards between two ranks are no fewer bytes
}

std::unique_ptr<BucketExchange> MakeExchange(Transport& transport, uint32_t index,
                                             const GradientReducerOptions& options,
                                             const FlatLayout& layout) {
  const BucketIdentity identity = {index, options.logical_ranks, options.job_hash,
                                   layout.segments(), layout.elements()};
  if (options.reduction == Reduction::kAllReduce) {
    return MakeAllReduceExchange(transport, identity, layout);
  }
  const size_t bytes = layout.elements() * sizeof(float);
  return IsGathered(bytes, transport.world_size(), options)
             ? MakeGatherExchange(transport, options.device, identity, layout)
             : MakeShardExchange(transport, options.device, identity, layout);
}

}  // namespace

GradientBucket::GradientBucket(Transport& transport, uint32_t index,
                               const GradientReducerOptions& options,
                               const std::vector<at::Tensor>& parameters)
    : exchange_(MakeExchange(transport, index, options, FlatLayout(parameters))),
      leaves_(LogicalRangeOf(transport.rank(), transport.world_size(), options.logical_ranks),
              options.reduction, parameters, [this](size_t i) { return exchange_->own(i); }),
      sum_(exchange_->sum()),
      sums_(ViewsOf(FlatLayout(parameters), sum_, parameters)) {}

}  // namespace tandem::ddp
