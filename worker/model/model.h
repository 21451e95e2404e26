#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"
#include "worker/data/dataset.h"
#include "worker/ddp/named_tensor.h"
#include "worker/model/loss.h"
#include "worker/model/network.h"

namespace tandem::model {

// A network together with its loss. Not thread-safe.
class Model {
 public:
  Model(std::unique_ptr<Network> network, v1::Loss loss)
      : network_(std::move(network)), loss_(loss) {}

  // As Network.
  std::vector<ddp::NamedTensor> Parameters() const { return network_->Parameters(); }
  std::vector<ddp::NamedTensor> Buffers() const { return network_->Buffers(); }

  // It begins in training mode.
  void SetTraining(bool training);
  bool is_training() const { return training_; }

  // Draws what it draws (dropout) from the default generator. Throws c10::Error.
  Outcome Forward(const data::Batch& batch);

 private:
  const std::unique_ptr<Network> network_;
  const v1::Loss loss_;
  bool training_ = true;
};

// Builds the model with initial weights from `spec.seed()`: those of a Python program that calls
// torch.manual_seed(seed) and then creates the same layers in the same order.
// `spec` has all defaults filled in; `shape` is that of the data.
//   InvalidArgument  the model does not fit the data or the loss, or needs more memory than there
//                    is; the message names the key.
absl::StatusOr<std::unique_ptr<Model>> CreateModel(const v1::JobSpec& spec,
                                                   const data::SampleShape& shape);

}  // namespace tandem::model
