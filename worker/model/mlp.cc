#include "worker/model/mlp.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "c10/util/accumulate.h"
#include "torch/nn/modules/container/modulelist.h"
#include "torch/nn/modules/linear.h"
#include "worker/model/dropout.h"
#include "worker/model/loss.h"
#include "worker/model/module_network.h"

namespace tandem::model {
namespace {

class Mlp final : public ModuleNetwork {
 public:
  Mlp(const v1::Mlp& spec, const data::SampleShape& shape);

  at::Tensor Forward(const at::Tensor& inputs) override;

 private:
  at::Tensor Activate(const at::Tensor& hidden) const;

  const v1::Activation activation_;
  const double dropout_;
  const std::vector<int64_t> output_shape_;
  std::vector<torch::nn::Linear> layers_;
};

Mlp::Mlp(const v1::Mlp& spec, const data::SampleShape& shape)
    : activation_(spec.activation()), dropout_(spec.dropout()), output_shape_(OutputShape(shape)) {
  auto layers = register_module("layers", torch::nn::ModuleList());
  int64_t width = c10::multiply_integers(shape.inputs);
  const auto add_layer = [&](int64_t next_width) {
    layers_.emplace_back(width, next_width);
    layers->push_back(layers_.back());
    width = next_width;
  };
  for (const uint32_t hidden : spec.hidden()) add_layer(hidden);
  add_layer(c10::multiply_integers(output_shape_));
}

at::Tensor Mlp::Forward(const at::Tensor& inputs) {
  at::Tensor values = inputs.reshape({inputs.size(0), -1});
  for (size_t i = 0; i + 1 < layers_.size(); ++i) {
    values = Dropout(Activate(layers_[i]->forward(values)), dropout_, is_training());
  }
  return WithSamples(layers_.back()->forward(values), output_shape_);
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

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> CreateMlp(const v1::Mlp& spec,
                                                   const data::SampleShape& shape) {
  if (shape.vocabulary > 0) {
    return absl::InvalidArgumentError(
        "model.mlp: needs numbers as inputs, and those of this data are tokens; model.gpt reads "
        "them");
  }
  return std::make_unique<Mlp>(spec, shape);
}

}  // namespace tandem::model
