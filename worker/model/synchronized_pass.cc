#include "worker/model/synchronized_pass.h"

#include <algorithm>
#include <utility>

#include "ATen/Functions.h"
#include "ATen/TensorOperators.h"
#include "torch/csrc/autograd/autograd.h"
#include "worker/model/precision.h"
#include "worker/model/seed.h"

namespace tandem::model {
namespace {

size_t IndexOf(const at::Tensor& parameter, const std::vector<at::Tensor>& parameters) {
  const auto is_it = [&parameter](const at::Tensor& other) { return other.is_same(parameter); };
  return static_cast<size_t>(std::find_if(parameters.begin(), parameters.end(), is_it) -
                             parameters.begin());
}

void AddGradient(const at::Tensor& gradient, at::Tensor& sum) {
  if (gradient.defined()) sum = sum.defined() ? sum + gradient : gradient;
}

}  // namespace

SynchronizedPass::SynchronizedPass(Model& model, Fold fold, SegmentSeed seed)
    : model_(model), network_(*model.segmented()), fold_(std::move(fold)), seed_(std::move(seed)) {
  for (const ddp::NamedTensor& parameter : model.Parameters()) {
    parameters_.push_back(parameter.tensor);
  }
  for (const NormLayer& layer : network_.Norms()) {
    norms_.push_back(
        {GlobalNorm(layer), IndexOf(layer.weight, parameters_), IndexOf(layer.bias, parameters_)});
  }
}

absl::StatusOr<std::vector<std::optional<Outcome>>> SynchronizedPass::Forward(
    absl::Span<const std::optional<data::Batch>> batches) {
  leaves_.clear();
  for (const std::optional<data::Batch>& batch : batches) {
    leaves_.emplace_back();
    if (!batch) continue;
    Leaf& leaf = leaves_.back().emplace();
    leaf.batch = model_.OnDevice(*batch);
    leaf.inputs = {leaf.batch.inputs};
    leaf.gradients.resize(parameters_.size());
  }
  for (size_t segment = 0; segment <= norms_.size(); ++segment) {
    for (size_t l = 0; l < leaves_.size(); ++l) RunSegment(l, segment);
    if (segment == norms_.size()) break;
    if (absl::Status status = Normalize(segment); !status.ok()) return status;
  }
  std::vector<std::optional<Outcome>> outcomes;
  for (const auto& leaf : leaves_) {
    outcomes.push_back(leaf ? std::optional(leaf->outcome) : std::nullopt);
  }
  return outcomes;
}

void SynchronizedPass::RunSegment(size_t leaf_index, size_t segment) {
  if (!leaves_[leaf_index]) return;
  Leaf& leaf = *leaves_[leaf_index];
  SeedDefaultGenerator(seed_(leaf_index, segment), model_.device());
  at::Tensor output;
  {
    const PrecisionGuard guard(model_.precision(), model_.device().type());
    output = network_.RunSegment(segment, leaf.inputs[segment]);
  }
  if (segment == norms_.size()) {
    leaf.outcome = model_.Judge(output, leaf.batch.targets);
    output = leaf.outcome.loss_sum;
  }
  leaf.outputs.push_back(std::move(output));
}

absl::Status SynchronizedPass::Normalize(size_t norm) {
  GlobalNorm& layer = norms_[norm].layer;
  std::vector<std::optional<Values>> moments(leaves_.size());
  for (size_t l = 0; l < leaves_.size(); ++l) {
    if (leaves_[l]) moments[l] = GlobalNorm::Moments(leaves_[l]->outputs[norm]);
  }
  const FoldPlace place = {.operation = static_cast<uint32_t>(norm),
                           .width = GlobalNorm::MomentsWidth(layer.channels())};
  const auto total = fold_(place, moments, GlobalNorm::CombineMoments);
  if (!total.ok()) return total.status();
  if (!*total) return absl::OkStatus();  // no logical rank of any rank has samples
  if (absl::Status status = layer.SetStatistics(**total); !status.ok()) return status;
  for (auto& leaf : leaves_) {
    if (!leaf) continue;
    leaf->inputs.push_back(layer.Normalize(leaf->outputs[norm]).requires_grad_());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<at::Tensor>>> SynchronizedPass::Backward(double scale) {
  for (auto& leaf : leaves_) {
    if (leaf) leaf->incoming = at::full_like(leaf->outputs.back(), scale);
  }
  for (size_t segment = norms_.size() + 1; segment-- > 0;) {
    for (auto& leaf : leaves_) {
      if (leaf) RunSegmentBackward(segment, *leaf);
    }
    if (segment == 0) break;
    if (absl::Status status = NormalizeBackward(segment - 1); !status.ok()) return status;
  }
  std::vector<std::vector<at::Tensor>> gradients(leaves_.size());
  for (size_t l = 0; l < leaves_.size(); ++l) {
    if (leaves_[l]) gradients[l] = std::move(leaves_[l]->gradients);
  }
  leaves_.clear();
  return gradients;
}

// Leaves in `incoming` the gradient of the segment's input.
void SynchronizedPass::RunSegmentBackward(size_t segment, Leaf& leaf) {
  std::vector<at::Tensor> inputs = parameters_;
  if (segment > 0) inputs.push_back(leaf.inputs[segment]);
  const std::vector<at::Tensor> gradients = torch::autograd::grad(
      {leaf.outputs[segment]}, inputs, {leaf.incoming}, /*retain_graph=*/std::nullopt,
      /*create_graph=*/false, /*allow_unused=*/true);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    AddGradient(gradients[i], leaf.gradients[i]);
  }
  if (segment > 0) leaf.incoming = gradients.back();
}

// Turns `incoming` from the gradient of what the layer put out into that of what it took.
absl::Status SynchronizedPass::NormalizeBackward(size_t norm) {
  const GlobalNorm& layer = norms_[norm].layer;
  std::vector<std::optional<Values>> sums(leaves_.size());
  for (size_t l = 0; l < leaves_.size(); ++l) {
    if (!leaves_[l]) continue;
    sums[l] = layer.GradientSums(leaves_[l]->outputs[norm], leaves_[l]->incoming);
  }
  const FoldPlace place = {.operation = static_cast<uint32_t>(norms_.size() + norm),
                           .width = GlobalNorm::GradientSumsWidth(layer.channels())};
  const auto total = fold_(place, sums, GlobalNorm::AddValues);
  if (!total.ok()) return total.status();
  for (size_t l = 0; l < leaves_.size(); ++l) {
    if (!leaves_[l]) continue;
    Leaf& leaf = *leaves_[l];
    const at::Tensor& taken = leaf.outputs[norm];
    AddGradient(layer.WeightGradient(*sums[l]), leaf.gradients[norms_[norm].weight]);
    AddGradient(layer.BiasGradient(*sums[l]), leaf.gradients[norms_[norm].bias]);
    leaf.incoming = layer.InputGradient(taken, leaf.incoming, **total).to(taken.scalar_type());
  }
  return absl::OkStatus();
}

}  // namespace tandem::model
