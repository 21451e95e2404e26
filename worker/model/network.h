#pragma once

#include <memory>
#include <vector>

#include "ATen/core/Tensor.h"
#include "worker/ddp/named_tensor.h"

namespace tandem::model {

class Segmented;

// From inputs to scores, without a loss. Not thread-safe.
class Network {
 public:
  virtual ~Network() = default;

  // What is trained, in order of registration, under the names that Python would use. A tensor that
  // is used in two places (a tied weight) comes once.
  virtual std::vector<ddp::NamedTensor> Parameters() const = 0;
  // What else belongs to the state: running statistics, frozen weights.
  virtual std::vector<ddp::NamedTensor> Buffers() const = 0;
  // It begins in training mode.
  virtual void SetTraining(bool training) = 0;
  // It begins on the CPU. Parameters and buffers stay the same tensors, with other memory.
  virtual void MoveTo(at::Device device) = 0;

  // samples x SampleShape::inputs to samples x OutputShape, both on its device. Draws what it draws
  // (dropout) from the default generators. Throws c10::Error.
  virtual at::Tensor Forward(const at::Tensor& inputs) = 0;

  // The same network in pieces; null if it has no batch normalization, or none that can be reached.
  virtual Segmented* segmented() { return nullptr; }
};

}  // namespace tandem::model
