#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"
#include "torch/nn/module.h"
#include "worker/data/dataset.h"

namespace tandem::model {

// What a model says about one batch.
struct Outcome {
  at::Tensor loss_sum;  // scalar; the sum of `count` losses, not their mean
  uint64_t count = 0;   // what the global sum is divided by: samples here
  at::Tensor correct;   // scalar int64, how many were right; undefined in training mode
};

// A network together with its loss. Not thread-safe.
class Model : public torch::nn::Module {
 public:
  // Draws what it draws (dropout) from the default generator of its device.
  virtual Outcome Forward(const data::Batch& batch) = 0;
};

// Builds the network with initial weights from `spec.seed()`: those of a Python program that calls
// torch.manual_seed(seed) and then creates the same layers in the same order.
// `shape` is that of the data.
//   InvalidArgument  the model does not fit the data or the loss, or needs more memory than there
//                    is; the message names the key.
absl::StatusOr<std::shared_ptr<Model>> CreateModel(const v1::JobSpec& spec,
                                                   const data::SampleShape& shape);

}  // namespace tandem::model
