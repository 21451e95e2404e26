#include "worker/model/optimizer.h"

#include "torch/optim/adam.h"
#include "torch/optim/adamw.h"
#include "torch/optim/sgd.h"

namespace tandem::model {
namespace {

template <typename Options, typename Spec>
Options AdamOptionsOf(const Spec& spec) {
  return Options(spec.lr())
      .betas({spec.beta1(), spec.beta2()})
      .eps(spec.eps())
      .weight_decay(spec.weight_decay());
}

}  // namespace

std::unique_ptr<torch::optim::Optimizer> CreateOptimizer(
    const v1::Optimizer& spec, const std::vector<ddp::NamedTensor>& parameters) {
  std::vector<at::Tensor> tensors;
  for (const ddp::NamedTensor& parameter : parameters) tensors.push_back(parameter.tensor);
  if (spec.has_sgd()) {
    return std::make_unique<torch::optim::SGD>(tensors,
                                               torch::optim::SGDOptions(spec.sgd().lr())
                                                   .momentum(spec.sgd().momentum())
                                                   .weight_decay(spec.sgd().weight_decay()));
  }
  if (spec.has_adam()) {
    return std::make_unique<torch::optim::Adam>(
        tensors, AdamOptionsOf<torch::optim::AdamOptions>(spec.adam()));
  }
  return std::make_unique<torch::optim::AdamW>(
      tensors, AdamOptionsOf<torch::optim::AdamWOptions>(spec.adamw()));
}

void SetLearningRate(torch::optim::Optimizer& optimizer, double learning_rate) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(learning_rate);
}

}  // namespace tandem::model
