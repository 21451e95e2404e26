#pragma once

#include <memory>

#include "tandem/v1/spec.pb.h"
#include "torch/optim/optimizer.h"
#include "worker/model/model.h"

namespace tandem::model {

// An optimizer over all parameters of `model`. A parameter whose gradient is undefined is left as
// it is by a step: no decay, no step count.
std::unique_ptr<torch::optim::Optimizer> CreateOptimizer(const v1::Optimizer& spec,
                                                         const Model& model);

double LearningRate(const v1::Optimizer& spec);

}  // namespace tandem::model
