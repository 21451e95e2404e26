#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "worker/data/sample_source.h"

namespace tandem::data {

using Numbers = std::variant<std::vector<float>, std::vector<int64_t>>;

// Samples in memory, one after the other.
struct Samples {
  SampleShape shape;
  int64_t count = 0;
  Numbers inputs;   // count x shape.inputs; float is finite, int64 is in 0..vocabulary-1
  Numbers targets;  // count x shape.targets; float is finite, int64 a class or kIgnoredTarget
};

class MemorySource : public SampleSource {
 public:
  explicit MemorySource(Samples samples) : samples_(std::move(samples)) {}

  int64_t size() const override { return samples_.count; }
  const SampleShape& shape() const override { return samples_.shape; }
  void Copy(int64_t index, NumberSpan input, NumberSpan target) const override;

 private:
  const Samples samples_;
};

}  // namespace tandem::data
