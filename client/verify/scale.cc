#include "client/verify/scale.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace tandem::verify {
namespace {

// The share of a logarithmic axis below its lowest power of ten, where 0 lies.
constexpr double kZeroLane = 0.12;
constexpr double kMostTicks = 6;

// The smallest of 1, 2, 5, 10, 20, 50, ... that cuts `range` into few enough pieces.
double RoundStep(double range) {
  const double least = range / kMostTicks;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (double factor : {1, 2, 5}) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}

}  // namespace

Scale::Scale(bool logarithmic, double low, double high)
    : logarithmic_(logarithmic), low_(low), high_(high > low ? high : low + 1) {}

Scale Scale::Linear(double low, double high) {
  Scale scale(false, low, high);
  const double step = RoundStep(scale.high_ - scale.low_);
  for (double n = std::ceil(scale.low_ / step); n * step <= scale.high_; ++n) {
    scale.ticks_.push_back({scale.PositionOf(n * step), absl::StrFormat("%g", n * step)});
  }
  return scale;
}

Scale Scale::Logarithmic(double low, double high) {
  Scale scale(true, std::floor(std::log10(low)), std::ceil(std::log10(high)));
  scale.ticks_.push_back({0, "0"});
  const double step = std::ceil((scale.high_ - scale.low_) / kMostTicks);
  for (double exponent = scale.low_; exponent <= scale.high_; exponent += step) {
    scale.ticks_.push_back(
        {scale.PositionOf(std::pow(10, exponent)), absl::StrFormat("1e%g", exponent)});
  }
  return scale;
}

double Scale::PositionOf(double value) const {
  if (!logarithmic_) return (value - low_) / (high_ - low_);
  if (value <= 0) return 0;
  return kZeroLane + (1 - kZeroLane) * (std::log10(value) - low_) / (high_ - low_);
}

}  // namespace tandem::verify
