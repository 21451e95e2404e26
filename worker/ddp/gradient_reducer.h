#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/ids.h"
#include "common/logical_ranks.h"
#include "worker/ddp/named_tensor.h"
#include "worker/ddp/reduction.h"
#include "worker/ddp/transport.h"
#include "worker/device/device.h"

namespace tandem::ddp {

class GradientBucket;

struct GradientReducerOptions {
  uint32_t logical_ranks = 1;
  // Hash of everything that all ranks must agree on (the spec, the data); compared before data is
  // used.
  uint64_t job_hash = 0;
  // Gradients are exchanged in portions of about this many bytes. Cannot change a bit of the
  // result.
  size_t bucket_bytes = size_t{25} << 20;
  // Which buckets go to every rank as a whole, rather than in shards that one rank each adds and
  // sends again: those of at most so many bytes. Unset: 64 KiB, or all on up to two ranks. Cannot
  // change a bit of the result.
  std::optional<size_t> gather_bytes = std::nullopt;
  // With kAllReduce the result depends on the world size.
  Reduction reduction = Reduction::kTree;
  // Where the parameters are, which outlives the reducer: their gradients stay there, and it adds up
  // what the ranks send each other. Null: the CPU.
  device::Device* device = nullptr;
};

// Turns the gradients of L logical ranks, spread over the ranks, into the gradient of the whole
// batch: the same bits at every world size (with Reduction::kTree, of which the following speaks).
//
// Each logical rank back-propagates the *sum* of its losses. Hooks on the parameters move every
// gradient, as it arrives, into a flat float32 bucket (filled in reverse order of registration, the
// order in which backward produces them) and leave `grad` undefined. Buckets of a rank's logical
// ranks are added in the fixed tree of reduction_tree.h, with a parameter that got no gradient
// being absent, not zero. During the backward of the rank's last logical rank a bucket goes out to
// the other ranks as soon as it is full and those before it are out. Finish adds the blocks of all
// ranks in the same tree and multiplies once, by float(1 / count).
//
//   reducer.BeginStep(step);
//   for (l : reducer.range()) {
//     if (share is empty) { reducer.SkipLogicalRank(l); continue; }
//     Forward(l);
//     reducer.BeginLogicalRank(l);
//     loss_sum.backward();                       // exactly once
//     reducer.EndLogicalRank(l);
//   }
//   status = reducer.Finish(count);              // grads are set
//   optimizer.step();
//
// One thread makes all calls, backward included. Calls in another order, a parameter with two
// gradients in one logical rank, a sparse gradient and failed exchanges are errors that Finish
// returns; after one the reducer is of no further use.
class GradientReducer {
 public:
  // Collective. `parameters`: all that are trained, in order of registration, the same on every
  // rank; floating point, on options.device. `transport` outlives the reducer.
  //   InvalidArgument     no parameter; one that is not a floating-point leaf that requires a
  //                       gradient, or is on another device, or is given twice; logical_ranks is
  //                       not a power of two or below the world size.
  //   FailedPrecondition  a rank has other parameters, options or job_hash: names the rank.
  //   others              as Transport.
  static absl::StatusOr<std::unique_ptr<GradientReducer>> Create(
      Transport& transport ABSL_ATTRIBUTE_LIFETIME_BOUND, std::vector<NamedTensor> parameters,
      const GradientReducerOptions& options);

  GradientReducer(const GradientReducer&) = delete;
  // Removes the hooks. Blocks until exchanges under way are over: after an error, abort the
  // transport first.
  ~GradientReducer();

  // The logical ranks that this rank executes.
  LogicalRange range() const { return range_; }

  // Makes all gradients undefined.
  void BeginStep(uint64_t step);
  // Around each backward; `logical_rank` ascends through range().
  void BeginLogicalRank(LogicalRank logical_rank);
  void EndLogicalRank(LogicalRank logical_rank);
  // Between the two, for a parameter that backward does not reach as a leaf: gives its gradient, as
  // the hook would, by its index in the order of registration. An undefined one is absent. Refused,
  // as an error of Finish, where the index or the shape is wrong (InvalidArgument) and in the cases
  // of the hook.
  void Provide(size_t parameter, const at::Tensor& gradient);
  // In place of both where the share is empty: every gradient of this logical rank is absent.
  void SkipLogicalRank(LogicalRank logical_rank);

  // Waits for the other ranks and sets every parameter's grad: in the parameter's dtype, or
  // undefined where no logical rank had one. The tensors are the reducer's own and change with the
  // next step. `count`: samples (or tokens) in the global batch; with 0 all gradients are
  // undefined.
  //   FailedPrecondition  a rank is at another step or bucket, or has other constants: names rank
  //                       and step; or this rank's calls came in a wrong order: names the call.
  //   InvalidArgument     a gradient is sparse: names the parameter.
  //   others              as Transport and device::Device.
  absl::Status Finish(uint64_t count);

 private:
  struct Parameter;

  GradientReducer(Transport& transport, std::vector<NamedTensor> parameters,
                  const GradientReducerOptions& options);

  void MakeBucket(Transport& transport, const std::vector<size_t>& members,
                  const GradientReducerOptions& options);
  void InstallHooks();
  void TakeGradient(const Parameter& parameter, const at::Tensor& gradient);
  absl::Status StoreGradient(const Parameter& parameter, const at::Tensor& gradient);
  void LaunchNextBucket();
  void FailOrder(absl::string_view call, LogicalRank logical_rank);
  static void SetGradient(Parameter& parameter);

  // Constant after construction.
  const LogicalRange range_;
  std::vector<Parameter> parameters_;
  std::vector<std::unique_ptr<GradientBucket>> buckets_;  // in the order in which they are sent

  // Where the step is.
  uint64_t step_ = 0;
  bool in_step_ = false;
  uint32_t next_leaf_ = 0;  // the one under way, if in_leaf_
  bool in_leaf_ = false;
  size_t launched_ = 0;  // buckets
  absl::Status status_;  // the first error
};

}  // namespace tandem::ddp
