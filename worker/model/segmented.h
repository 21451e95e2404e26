#pragma once

#include <cstddef>
#include <vector>

#include "ATen/core/Tensor.h"

namespace tandem::model {

// The tensors and constants of one batch normalization over dimension 1; shared with the network.
struct NormLayer {
  at::Tensor weight, bias;               // parameters, one value a channel
  at::Tensor running_mean, running_var;  // buffers, one value a channel
  at::Tensor num_batches_tracked;        // buffer, int64 scalar
  double momentum = 0.1;                 // weight of the newest statistics
  double eps = 1e-5;
};

// A network cut at its batch normalizations, so that somebody else can do those:
//
//   segment 0, norm 0, segment 1, ..., norm n - 1, segment n
class Segmented {
 public:
  virtual ~Segmented() = default;

  // At least one.
  virtual std::vector<NormLayer> Norms() const = 0;

  // Segment 0 takes the inputs of a batch, every other what the normalization before it puts out;
  // the last one gives the scores. What each gives depends on what it takes, and of segment 0 on
  // a parameter.
  // Draws what it draws (dropout) from the default generator. Throws c10::Error.
  virtual at::Tensor RunSegment(size_t index, const at::Tensor& values) = 0;
};

}  // namespace tandem::model
