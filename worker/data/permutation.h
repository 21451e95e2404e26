#pragma once

#include <cstdint>
#include <vector>

namespace tandem::data {

// A small generator of our own (SplitMix64), so that an order of the data never depends on a
// standard library. Not for secrets.
class KeyedGenerator {
 public:
  explicit KeyedGenerator(uint64_t key) : state_(key) {}

  uint64_t Next();
  // Uniform over 0..bound-1, without the bias of a plain remainder. bound > 0.
  uint64_t Below(uint64_t bound);
  // Uniform over the multiples of 2^-53 in [0, 1).
  double Fraction();

 private:
  uint64_t state_;
};

// The numbers 0..n-1 in an order that depends on n and `key` only (Fisher-Yates).
std::vector<int64_t> KeyedPermutation(int64_t n, uint64_t key);

}  // namespace tandem::data
