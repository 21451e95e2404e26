#include "worker/ddp/gradient_reducer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "worker/ddp/gradient_bucket.h"
#include "worker/ddp/reduction_tree.h"
#include "worker/ddp/sha256.h"

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

namespace {

absl::Status CheckParameter(const NamedTensor& named) {
  const at::Tensor& tensor = named.tensor;
  const bool trainable = tensor.defined() && tensor.is_leaf() && tensor.requires_grad();
  if (trainable && tensor.is_cpu() && at::isFloatingType(tensor.scalar_type())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "parameter '", named.name, "' is not a floating-point CPU leaf that requires a gradient"));
}

absl::Status CheckParameters(const std::vector<NamedTensor>& parameters) {
  if (parameters.empty()) return absl::InvalidArgumentError("there is no parameter to train");
  std::set<const void*> seen;
  for (const NamedTensor& named : parameters) {
    if (absl::Status status = CheckParameter(named); !status.ok()) return status;
    if (!seen.insert(named.tensor.unsafeGetTensorImpl()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter '", named.name, "' is given twice"));
    }
  }
  return absl::OkStatus();
}

Sha256::Digest DescriptionOf(const std::vector<NamedTensor>& parameters) {
  Sha256 hash;
  for (const NamedTensor& named : parameters) {
    hash.AddText(named.name);
    hash.AddText(c10::toString(named.tensor.scalar_type()));
    hash.AddNumber(named.tensor.dim());
    for (const int64_t size : named.tensor.sizes()) hash.AddNumber(size);
  }
  return hash.Finish();
}

// What every rank must have the same of.
struct Agreement {
  uint64_t logical_ranks;
  uint64_t job_hash;
  uint64_t bucket_bytes;
  Sha256::Digest parameters;
};

std::string Disagreement(const Agreement& a, const Agreement& b) {
  if (a.logical_ranks != b.logical_ranks) return "number of logical ranks";
  if (a.job_hash != b.job_hash) return "job hash";
  if (a.bucket_bytes != b.bucket_bytes) return "bucket size";
  if (a.parameters != b.parameters) return "list of parameters";
  return "";
}

absl::Status VerifyAgreement(Transport& transport, const Agreement& mine) {
  std::vector<Agreement> all(transport.world_size(), mine);
  const absl::Span<std::byte> slots(reinterpret_cast<std::byte*>(all.data()),
                                    all.size() * sizeof(Agreement));
  if (absl::Status status = transport.AllGather(slots); !status.ok()) return status;
  for (uint32_t rank = 1; rank < all.size(); ++rank) {
    const std::string difference = Disagreement(all[0], all[rank]);
    if (difference.empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrFormat("rank %d has another %s than rank 0", rank, difference));
  }
  return absl::OkStatus();
}

// Indices of `parameters`, bucket by bucket: from the last registered to the first, each bucket of
// at most `bucket_bytes` in float32 unless a single parameter is larger.
std::vector<std::vector<size_t>> AssignBuckets(const std::vector<NamedTensor>& parameters,
                                               size_t bucket_bytes) {
  std::vector<std::vector<size_t>> buckets;
  size_t used = 0;
  for (size_t i = parameters.size(); i-- > 0;) {
    const size_t bytes = parameters[i].tensor.numel() * sizeof(float);
    if (buckets.empty() || used + bytes > bucket_bytes) {
      buckets.emplace_back();
      used = 0;
    }
    buckets.back().push_back(i);
    used += bytes;
  }
  return buckets;
}

}  // namespace

absl::StatusOr<std::unique_ptr<GradientReducer>> GradientReducer::Create(
    Transport& transport, std::vector<NamedTensor> parameters,
    const GradientReducerOptions& options) {
  if (absl::Status status = CheckParameters(parameters); !status.ok()) return status;
  absl::Status status = CheckTreeShape(transport.world_size(), options.logical_ranks);
  if (!status.ok()) return status;
  status = VerifyAgreement(transport, {options.logical_ranks, options.job_hash,
                                       options.bucket_bytes, DescriptionOf(parameters)});
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
  const GradientBucket::Constants constants = {static_cast<uint32_t>(buckets_.size()),
                                               options.logical_ranks, options.job_hash};
  buckets_.push_back(std::make_unique<GradientBucket>(transport, constants, tensors));
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
              OnGradient(parameter);
              return outputs;
            }));
  }
}

void GradientReducer::OnGradient(Parameter& parameter) {
  const at::Tensor gradient = std::exchange(parameter.named.tensor.mutable_grad(), at::Tensor());
  if (!gradient.defined() || !status_.ok()) return;
  const at::NoGradGuard no_grad;
  if (absl::Status status = StoreGradient(parameter, gradient); !status.ok()) {
    status_ = {status.code(), absl::StrFormat("parameter '%s' at step %d: %s", parameter.named.name,
                                              step_, status.message())};
    return;
  }
  if (next_leaf_ + 1 < range_.end) return;
  while (launched_ < buckets_.size() && buckets_[launched_]->is_full()) LaunchNextBucket();
}

absl::Status GradientReducer::StoreGradient(const Parameter& parameter,
                                            const at::Tensor& gradient) {
  if (!in_leaf_) {
    return absl::FailedPreconditionError("its gradient came outside of a logical rank");
  }
  if (gradient.layout() != at::kStrided) {
    return absl::InvalidArgumentError("its gradient is sparse, which cannot be reduced");
  }
  return parameter.bucket->Store(parameter.segment, gradient);
}

void GradientReducer::LaunchNextBucket() {
  GradientBucket& bucket = *buckets_[launched_++];
  bucket.CloseLeaf();
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
  for (const auto& bucket : buckets_) bucket->OpenLeaf(logical_rank);
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
    for (const auto& bucket : buckets_) bucket->CloseLeaf();
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
  for (const auto& bucket : buckets_) {
    if (!status_.ok()) return status_;
    status_ = bucket->AwaitSum();
  }
  if (!status_.ok() || count == 0) return status_;
  const auto scale = static_cast<float>(1.0 / static_cast<double>(count));
  for (const auto& bucket : buckets_) bucket->ScaleSums(scale);
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
