#pragma once

#include <memory>
#include <vector>

#include "tandem/v1/spec.pb.h"
#include "torch/optim/optimizer.h"
#include "worker/ddp/named_tensor.h"

namespace tandem::model {

// An optimizer over `parameters`. A parameter whose gradient is undefined is left as it is by a
// step: no decay, no step count.
std::unique_ptr<torch::optim::Optimizer> CreateOptimizer(
    const v1::Optimizer& spec, const std::vector<ddp::NamedTensor>& parameters);

// Until then it is that of `spec`.
void SetLearningRate(torch::optim::Optimizer& optimizer, double learning_rate);

}  // namespace tandem::model
