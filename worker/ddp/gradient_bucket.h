#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "worker/ddp/bucket_exchange.h"
#include "worker/ddp/gradient_reducer.h"
#include "worker/ddp/leaf_sum.h"
#include "worker/ddp/transport.h"

namespace tandem::ddp {

// The gradients of some parameters on their way from the leaves to the root: those of the own
// leaves add up (LeafSum), where an exchange with the other ranks (BucketExchange) then takes them
// from. GradientReducer says when. Not thread-safe; gradient mode is off around every call.
class GradientBucket {
 public:
  // `index`: among the buckets. `parameters` give the shapes. `transport` outlives the bucket.
  GradientBucket(Transport& transport, uint32_t index, const GradientReducerOptions& options,
                 const std::vector<at::Tensor>& parameters);

  // One leaf after the other, as LeafSum.
  LeafSum& leaves() { return leaves_; }

  // After the last leaf: sends this rank's sums off.
  void Launch(uint64_t step) { exchange_->Start(step); }
  // Waits for the sums of the other ranks, and starts what has to be sent after; then waits for
  // that. Of several buckets, all add before the first waits. Errors as GradientReducer::Finish.
  absl::Status Add(float scale) { return exchange_->Add(scale); }
  absl::Status Wait() { return exchange_->Wait(); }

  // After Wait: the sum over all leaves times `scale`, as views in the parameters' shapes.
  bool has_sum(size_t segment) const { return sum_.present[segment] != 0; }
  const at::Tensor& sum(size_t segment) const { return sums_[segment]; }

 private:
  const std::unique_ptr<BucketExchange> exchange_;
  LeafSum leaves_;  // in the exchange's memory
  const FlatGradient sum_;
  const std::vector<at::Tensor> sums_;  // views of it
};

}  // namespace tandem::ddp
