#pragma once

#include <cstdint>

#include "ATen/core/Tensor.h"
#include "absl/types/span.h"

namespace tandem::data {

// Some samples as tensors of their own: contiguous, 64-byte aligned, of a size that depends on the
// number of samples only. (A view into something larger could make a kernel choose another code
// path.)
struct Batch {
  at::Tensor inputs;   // samples x ..., float32
  at::Tensor targets;  // samples x ..., int64
};

// Immutable and thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;
  // Indices are in 0..size()-1; at least one.
  virtual Batch MakeBatch(absl::Span<const int64_t> indices) const = 0;
};

}  // namespace tandem::data
