#include "worker/ddp/reduction_scene.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <utility>

#include "worker/ddp/parameter_digest.h"

namespace tandem::ddp {

ReductionScene ReductionScene::Random(uint32_t leaves, std::vector<std::vector<int64_t>> shapes,
                                      uint64_t seed) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  ReductionScene scene = {.shapes = std::move(shapes), .leaves = std::vector<Gradients>(leaves)};
  for (Gradients& leaf : scene.leaves) {
    for (const auto& shape : scene.shapes) leaf.push_back(at::randn(shape, generator));
  }
  return scene;
}

std::vector<NamedTensor> ReductionScene::MakeParameters() const {
  std::vector<NamedTensor> parameters;
  for (const auto& shape : shapes) {
    const std::string name = "p" + std::to_string(parameters.size());
    parameters.push_back({name, at::zeros(shape, device).requires_grad_()});
  }
  return parameters;
}

void ReductionScene::Backward(const std::vector<NamedTensor>& parameters, uint32_t leaf) const {
  std::vector<at::Tensor> outputs;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!leaves[leaf][i].defined()) continue;
    outputs.push_back((parameters[i].tensor * leaves[leaf][i].to(device)).sum());
  }
  at::stack(outputs).sum().backward();
}

absl::StatusOr<Gradients> ReduceStep(const ReductionScene& scene, GradientReducer& reducer,
                                     const std::vector<NamedTensor>& parameters, uint64_t step) {
  reducer.BeginStep(step);
  for (uint32_t l = reducer.range().begin; l < reducer.range().end; ++l) {
    const Gradients& leaf = scene.leaves[l];
    if (std::none_of(leaf.begin(), leaf.end(), [](const auto& g) { return g.defined(); })) {
      reducer.SkipLogicalRank(LogicalRank(l));
      continue;
    }
    reducer.BeginLogicalRank(LogicalRank(l));
    scene.Backward(parameters, l);
    reducer.EndLogicalRank(LogicalRank(l));
  }
  if (absl::Status status = reducer.Finish(scene.count); !status.ok()) return status;
  Gradients result;
  for (const NamedTensor& parameter : parameters) result.push_back(parameter.tensor.grad());
  return result;
}

absl::StatusOr<Gradients> Reduce(const ReductionScene& scene, Transport& transport,
                                 GradientReducerOptions options) {
  options.logical_ranks = static_cast<uint32_t>(scene.leaves.size());
  const std::vector<NamedTensor> parameters = scene.MakeParameters();
  auto reducer = GradientReducer::Create(transport, parameters, options);
  if (!reducer.ok()) return reducer.status();
  return ReduceStep(scene, **reducer, parameters, 0);
}

at::Tensor TreeSum(const ReductionScene& scene, size_t parameter, size_t begin, size_t size) {
  if (size == 1) return scene.leaves[begin][parameter];
  const at::Tensor left = TreeSum(scene, parameter, begin, size / 2);
  const at::Tensor right = TreeSum(scene, parameter, begin + size / 2, size / 2);
  if (!left.defined()) return right;
  return right.defined() ? left + right : left;
}

Gradients Definition(const ReductionScene& scene) {
  Gradients result;
  for (size_t i = 0; i < scene.shapes.size(); ++i) {
    const at::Tensor sum = TreeSum(scene, i, 0, scene.leaves.size());
    const auto scale = static_cast<float>(1.0 / static_cast<double>(scene.count));
    result.push_back(sum.defined() ? sum * scale : sum);
  }
  return result;
}

std::string DigestOf(const Gradients& gradients) {
  std::vector<NamedTensor> named;
  for (const at::Tensor& gradient : gradients) {
    named.push_back({gradient.defined() ? "present" : "absent",
                     gradient.defined() ? gradient : at::zeros({0})});
  }
  return ParameterDigest(named);
}

bool SameBits(const Gradients& a, const Gradients& b) { return DigestOf(a) == DigestOf(b); }

}  // namespace tandem::ddp
