#pragma once

#include <memory>
#include <utility>
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
  Model(std::unique_ptr<Network> network, v1::Loss loss, v1::Precision precision)
      : network_(std::move(network)), loss_(loss), precision_(precision) {}

  // As Network.
  std::vector<ddp::NamedTensor> Parameters() const { return network_->Parameters(); }
  std::vector<ddp::NamedTensor> Buffers() const { return network_->Buffers(); }

  // It begins in training mode.
  void SetTraining(bool training);
  bool is_training() const { return training_; }

  // It begins on the CPU; an optimizer is made afterwards.
  void MoveTo(at::Device device);
  at::Device device() const { return device_; }
  // Tensors of their own there, as data::Batch has them.
  data::Batch OnDevice(const data::Batch& batch) const;

  // `batch`: anywhere. The network runs under PrecisionGuard, the loss in float32. Draws what it draws (dropout) from
  // the default generators. Throws c10::Error.
  Outcome Forward(const data::Batch& batch);

  // For SynchronizedPass, which runs the network in pieces (null if it has none that can be) and
  // then has the outputs judged.
  Segmented* segmented() { return network_->segmented(); }
  // Both on the model's device.
  Outcome Judge(const at::Tensor& outputs, const at::Tensor& targets) const;
  v1::Precision precision() const { return precision_; }

 private:
  const std::unique_ptr<Network> network_;
  const v1::Loss loss_;
  const v1::Precision precision_;
  bool training_ = true;
  at::Device device_ = at::kCPU;
};

// Builds the model on the CPU, with initial weights from `spec.seed()`: those of a Python program that calls
// torch.manual_seed(seed) and then creates the same layers in the same order.
// `spec` has all defaults filled in; `shape` is that of the data.
//   InvalidArgument  the model does not fit the data or the loss, or needs more memory than there
//                    is; the message names the key.
absl::StatusOr<std::unique_ptr<Model>> CreateModel(const v1::JobSpec& spec,
                                                   const data::SampleShape& shape);

}  // namespace tandem::model
