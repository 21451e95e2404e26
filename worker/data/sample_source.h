#pragma once

#include <cstdint>
#include <variant>

#include "absl/types/span.h"
#include "worker/data/sample_shape.h"

namespace tandem::data {

// Room for the inputs or the targets of one sample: float32 or int64, as its shape says.
using NumberSpan = std::variant<absl::Span<float>, absl::Span<int64_t>>;

// Samples as plain numbers, before they become tensors. Immutable and thread-safe.
class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual int64_t size() const = 0;  // at least 1
  virtual const SampleShape& shape() const = 0;
  // Writes one sample; `index` is in 0..size()-1, and both spans are exactly as long as the shape.
  virtual void Copy(int64_t index, NumberSpan input, NumberSpan target) const = 0;
};

}  // namespace tandem::data
