#pragma once

#include <string>
#include <vector>

namespace tandem::verify {

// A number at an axis; `position` is from 0, the beginning of the axis, to 1.
struct Tick {
  double position;
  std::string label;
};

// Where values lie on an axis of a chart. Pure.
class Scale {
 public:
  // From `low` to `high`, with ticks at round numbers.
  static Scale Linear(double low, double high);
  // From the power of ten at or below `low` to the one at or above `high`, both positive; 0 has the
  // beginning of the axis to itself.
  static Scale Logarithmic(double low, double high);

  double PositionOf(double value) const;
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  Scale(bool logarithmic, double low, double high);

  // Exponents where it is logarithmic.
  bool logarithmic_;
  double low_, high_;
  std::vector<Tick> ticks_;
};

}  // namespace tandem::verify
