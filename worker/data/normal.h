#pragma once

#include <cmath>
#include <numbers>

#include "worker/data/permutation.h"

namespace tandem::data {

// Normally distributed numbers of mean 0 and deviation 1, two from each two of the generator's
// (Box and Muller 1958). Of our own, because those of a standard library differ from one to the next.
class NormalNumbers {
 public:
  // The generator must outlive it, and should not be used meanwhile.
  explicit NormalNumbers(KeyedGenerator* generator) : generator_(*generator) {}

  double Next() {
    has_second_ = !has_second_;
    if (!has_second_) return second_;
    const double radius = std::sqrt(-2 * std::log(1 - generator_.Fraction()));
    const double angle = 2 * std::numbers::pi * generator_.Fraction();
    second_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

 private:
  KeyedGenerator& generator_;
  bool has_second_ = false;
  double second_ = 0;
};

}  // namespace tandem::data
