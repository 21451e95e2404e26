#include "worker/model/mlp.h"

#include "ATen/Functions.h"
#include "torch/nn/modules/container/modulelist.h"
#include "worker/model/classification.h"

namespace tandem::model {

Mlp::Mlp(const v1::Mlp& spec, int64_t features, int64_t classes)
    : activation_(spec.activation()), dropout_(spec.dropout()) {
  auto layers = register_module("layers", torch::nn::ModuleList());
  int64_t width = features;
  const auto add_layer = [&](int64_t next_width) {
    layers_.emplace_back(width, next_width);
    layers->push_back(layers_.back());
    width = next_width;
  };
  for (const uint32_t hidden : spec.hidden()) add_layer(hidden);
  add_layer(classes);
}

Outcome Mlp::Forward(const data::Batch& batch) {
  at::Tensor values = batch.inputs;
  for (size_t i = 0; i + 1 < layers_.size(); ++i) {
    values = at::dropout(Activate(layers_[i]->forward(values)), dropout_, is_training());
  }
  return Classify(layers_.back()->forward(values), batch.targets, is_training());
}

at::Tensor Mlp::Activate(const at::Tensor& hidden) const {
  switch (activation_) {
    case v1::ACTIVATION_GELU:
      return at::gelu(hidden);
    case v1::ACTIVATION_TANH:
      return at::tanh(hidden);
    default:
      return at::relu(hidden);
  }
}

}  // namespace tandem::model
