#include "worker/ddp/gradient_reducer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "worker/ddp/gradient_bucket.h"
#include "worker/ddp/reducer_setup.h"
#include "worker/ddp/reduction_tree.h"

namespace tandem::ddp {

struct GradientReducer::Parameter {
  NamedTensor named;
  GradientBucket* bucket = nullptr;
  size_t segment = 0;  // of the bucket
  // The parameter itself holds its accumulator weakly, and the hook with it.
  std::shared_ptr<torch::autograd::Node> accumulator;
  uintptr_t hook = 0;
  at::Tensor gradient;  // of the whole batch; made when first needed
};

absl::StatusOr<std::unique_ptr<GradientReducer>> GradientReducer::Create(
    Transport& transport, std::vector<NamedTensor> parameters,
    const GradientReducerOptions& options) {
  if (absl::Status status = CheckParameters(parameters, options.device); !status.ok())
    return status;
  absl::Status status = CheckTreeShape(transport.world_size(), options.logical_ranks);
  if (!status.ok()) return status;
  status = VerifyAgreement(transport, parameters, options);
  if (!status.ok()) return status;
  return std::unique_ptr<GradientReducer>(
      new GradientReducer(transport, std::move(parameters), options));
}

GradientReducer::GradientReducer(Transport& transport, std::vector<NamedTensor> parameters,
                                 const GradientReducerOptions& options)
    : range_(LogicalRangeOf(transport.rank(), transport.world_size(), options.logical_ranks)) {
  const at::NoGradGuard no_grad;
  const auto assignment = AssignBuckets(parameters, options.bucket_bytes);
  for (NamedTensor& named : parameters) parameters_.emplace_back().named = std::move(named);
  for (const std::vector<size_t>& members : assignment) {
    MakeBucket(transport, members, options);
  }
  InstallHooks();
}

GradientReducer::~GradientReducer() {
  for (Parameter& parameter : parameters_) parameter.accumulator->del_post_hook(parameter.hook);
}

void GradientReducer::MakeBucket(Transport& transport, const std::vector<size_t>& members,
                                 const GradientReducerOptions& options) {
  std::vector<at::Tensor> tensors;
  for (const size_t i : members) tensors.push_back(parameters_[i].named.tensor);
  const auto index = static_cast<uint32_t>(buckets_.size());
  buckets_.push_back(std::make_unique<GradientBucket>(transport, index, options, tensors));
  for (size_t segment = 0; segment < members.size(); ++segment) {
    parameters_[members[segment]].bucket = buckets_.back().get();
    parameters_[members[segment]].segment = segment;
  }
}

void GradientReducer::InstallHooks() {
  using torch::autograd::variable_list;
  for (Parameter& parameter : parameters_) {
    parameter.accumulator = torch::autograd::impl::grad_accumulator(parameter.named.tensor);
    parameter.hook = parameter.accumulator->add_post_hook(
        std::make_unique<torch::autograd::utils::LambdaPostHook>(
            [this, &parameter](const variable_list& outputs, const variable_list& inputs) {
              TakeGradient(parameter, std::exchange(parameter.named.tensor.mutable_grad(), {}));
              return outputs;
            }));
  }
}

void GradientReducer::Provide(size_t parameter, const at::Tensor& gradient) {
  if (parameter < parameters_.size()) return TakeGradient(parameters_[parameter], gradient);
  status_.Update(absl::InvalidArgumentError(
      absl::StrFormat("a gradient was provided at step %d for parameter number %d of %d", step_,
                      parameter, parameters_.size())));
}

void GradientReducer::TakeGradient(const Parameter& parameter, const at::Tensor& gradient) {
  if (!gradient.defined() || !status_.ok()) return;
  const at::NoGradGuard no_grad;
  if (absl::Status status = StoreGradient(parameter, gradient); !status.ok()) {
    status_ = {status.code(), absl::StrFormat("parameter '%s' at step %d: %s", parameter.named.name,
                                              step_, status.message())};
    return;
  }
  if (next_leaf_ + 1 < range_.end) return;
  while (launched_ < buckets_.size() && buckets_[launched_]->leaves().is_full()) LaunchNextBucket();
}

absl::Status GradientReducer::StoreGradient(const Parameter& parameter,
                                            const at::Tensor& gradient) {
  if (!in_leaf_) {
    return absl::FailedPreconditionError("its gradient came outside of a logical rank");
  }
  if (gradient.layout() != at::kStrided) {
    return absl::InvalidArgumentError("its gradient is sparse, which cannot be reduced");
  }
  if (gradient.sizes() != parameter.named.tensor.sizes()) {
    return absl::InvalidArgumentError("its gradient has another shape");
  }
  return parameter.bucket->leaves().Store(parameter.segment, gradient);
}

void GradientReducer::LaunchNextBucket() {
  GradientBucket& bucket = *buckets_[launched_++];
  bucket.leaves().Close();
  bucket.Launch(step_);
}

void GradientReducer::BeginStep(uint64_t step) {
  if (in_step_) {
    status_.Update(absl::FailedPreconditionError(
        absl::StrFormat("step %d began before step %d was finished", step, step_)));
  }
  step_ = step;
  in_step_ = true;
  next_leaf_ = range_.begin;
  launched_ = 0;
  for (Parameter& parameter : parameters_) parameter.named.tensor.mutable_grad().reset();
}

void GradientReducer::BeginLogicalRank(LogicalRank logical_rank) {
  if (!status_.ok()) return;
  const bool expected = in_step_ && !in_leaf_ && next_leaf_ < range_.end;
  if (!expected || logical_rank.value() != next_leaf_) {
    return FailOrder("BeginLogicalRank", logical_rank);
  }
  in_leaf_ = true;
  for (const auto& bucket : buckets_) bucket->leaves().Open(logical_rank);
}

void GradientReducer::EndLogicalRank(LogicalRank logical_rank) {
  if (!status_.ok()) return;
  if (!in_leaf_ || logical_rank.value() != next_leaf_) {
    return FailOrder("EndLogicalRank", logical_rank);
  }
  in_leaf_ = false;
  ++next_leaf_;
  const at::NoGradGuard no_grad;
  if (next_leaf_ == range_.end) {
    while (launched_ < buckets_.size()) LaunchNextBucket();
  } else {
    for (const auto& bucket : buckets_) bucket->leaves().Close();
  }
}

void GradientReducer::SkipLogicalRank(LogicalRank logical_rank) {
  BeginLogicalRank(logical_rank);
  EndLogicalRank(logical_rank);
}

void GradientReducer::FailOrder(absl::string_view call, LogicalRank logical_rank) {
  status_ = absl::FailedPreconditionError(absl::StrFormat(
      "%s(%d) at step %d came out of order: this rank is at logical rank %d of %d to %d", call,
      logical_rank.value(), step_, next_leaf_, range_.begin, range_.end));
}

absl::Status GradientReducer::Finish(uint64_t count) {
  if (!in_step_ || next_leaf_ < range_.end) {
    status_.Update(absl::FailedPreconditionError(absl::StrFormat(
        "Finish came before the end of step %d: this rank is at logical rank %d of %d to %d", step_,
        next_leaf_, range_.begin, range_.end)));
  }
  in_step_ = false;
  const at::NoGradGuard no_grad;
  const auto scale = count == 0 ? 1 : static_cast<float>(1.0 / static_cast<double>(count));
  for (const auto& bucket : buckets_) {
    if (status_.ok()) status_ = bucket->Add(scale);
  }
  for (const auto& bucket : buckets_) {
    if (status_.ok()) status_ = bucket->Wait();
  }
  if (!status_.ok() || count == 0) return status_;
  for (Parameter& parameter : parameters_) SetGradient(parameter);
  return absl::OkStatus();
}

void GradientReducer::SetGradient(Parameter& parameter) {
  if (!parameter.bucket->has_sum(parameter.segment)) return;
  if (!parameter.gradient.defined()) parameter.gradient = at::empty_like(parameter.named.tensor);
  parameter.gradient.copy_(parameter.bucket->sum(parameter.segment));
  parameter.named.tensor.mutable_grad() = parameter.gradient;
}

}  // namespace tandem::ddp
