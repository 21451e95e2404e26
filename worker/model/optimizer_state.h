#pragma once

#include <vector>

#include "absl/status/status.h"
#include "torch/optim/optimizer.h"
#include "worker/ddp/named_tensor.h"

namespace tandem::model {

// What an optimizer made by CreateOptimizer remembers of each parameter that it has moved, for a
// checkpoint; in the order of `parameters`, those it was made with. It shares memory with the
// optimizer, but for the step.
//
//   adamw, adam  "optimizer.NAME.step" (int64 scalar), "optimizer.NAME.exp_avg",
//                "optimizer.NAME.exp_avg_sq"
//   sgd          "optimizer.NAME.momentum_buffer", if it has momentum
std::vector<ddp::NamedTensor> OptimizerState(const torch::optim::Optimizer& optimizer,
                                             const std::vector<ddp::NamedTensor>& parameters);

// Makes it remember copies of `state`, which may be on the CPU, and nothing else.
//   InvalidArgument  a tensor is missing, superfluous, or of another shape or type; named. The
//                    optimizer is unchanged.
absl::Status LoadOptimizerState(const std::vector<ddp::NamedTensor>& state,
                                const std::vector<ddp::NamedTensor>& parameters,
                                torch::optim::Optimizer& optimizer);

}  // namespace tandem::model
