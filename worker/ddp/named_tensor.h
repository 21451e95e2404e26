#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace tandem::ddp {

// A parameter or buffer, with its path in the model ("layers.0.weight").
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

}  // namespace tandem::ddp
