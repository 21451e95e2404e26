#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

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

// Numbers in a tensor of this shape; 1 without dimensions. Of samples that are there, so that it is
// known to fit.
inline int64_t ElementsOf(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace tandem::data
