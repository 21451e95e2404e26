#pragma once

#include <cstdint>
#include <vector>

#include "torch/nn/modules/linear.h"
#include "worker/model/model.h"

namespace tandem::model {

// Linear layers with an activation and dropout between them. Parameters are named as by a Python
// module with `self.layers = nn.ModuleList([nn.Linear(...), ...])`: "layers.0.weight",
// "layers.0.bias", ...
class Mlp : public Model {
 public:
  Mlp(const v1::Mlp& spec, int64_t features, int64_t classes);

  Outcome Forward(const data::Batch& batch) override;

 private:
  at::Tensor Activate(const at::Tensor& hidden) const;

  const v1::Activation activation_;
  const double dropout_;
  std::vector<torch::nn::Linear> layers_;
};

}  // namespace tandem::model
