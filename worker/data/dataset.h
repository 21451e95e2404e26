#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/types/span.h"

namespace tandem::data {

// A class that stands for "leave this target out".
inline constexpr int64_t kIgnoredTarget = -100;

// What one sample looks like.
struct SampleShape {
  std::vector<int64_t> inputs;   // {64} features, {1, 28, 28} a picture, {128} tokens
  int64_t vocabulary = 0;        // above 0: inputs are int64 tokens below it; 0: float32
  std::vector<int64_t> targets;  // {} one of them, {128} one a token, {3} three numbers
  int64_t classes = 0;  // above 0: targets are int64, below it or kIgnoredTarget; 0: float32

  friend bool operator==(const SampleShape&, const SampleShape&) = default;
};

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
