#pragma once

#include <cstdint>
#include <string>

#include "ATen/core/Tensor.h"
#include "absl/types/span.h"
#include "worker/data/sample_shape.h"

namespace tandem::data {

// Some samples as tensors of their own: contiguous, 64-byte aligned, of a size that depends on the
// number of samples only. (A view into something larger could make a kernel choose another code
// path.)
struct Batch {
  at::Tensor inputs;   // samples x SampleShape::inputs
  at::Tensor targets;  // samples x SampleShape::targets
};

// Immutable and thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;  // at least 1
  virtual const SampleShape& shape() const = 0;
  // SHA-256 in hexadecimal over all that the samples are made from: the same for the same data.
  virtual const std::string& fingerprint() const = 0;
  // Indices are in 0..size()-1; at least one.
  virtual Batch MakeBatch(absl::Span<const int64_t> indices) const = 0;
};

}  // namespace tandem::data
