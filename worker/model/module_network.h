#pragma once

#include <vector>

#include "torch/nn/module.h"
#include "worker/model/network.h"

namespace tandem::model {

// A network made of LibTorch's own layers; names are those of its submodules.
class ModuleNetwork : public Network, public torch::nn::Module {
 public:
  std::vector<ddp::NamedTensor> Parameters() const override;
  std::vector<ddp::NamedTensor> Buffers() const override;
  void SetTraining(bool training) override { train(training); }
  void MoveTo(at::Device device) override { to(device); }
};

}  // namespace tandem::model
