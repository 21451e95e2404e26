#pragma once

#include <string>
#include <vector>

namespace tandem::verify {

// One curve: the values of step 1, 2 and so on. Where one is not finite the curve has a gap.
struct Series {
  std::string name;
  std::vector<double> values;
};

enum class YAxis {
  kLinear,
  // By powers of ten. What is 0 lies on a line of its own at the bottom.
  kLogarithmic,
};

// An SVG element with the curves over the steps, axes and numbers, for the style sheet of
// page_style.h, which has a class for each curve. Curves that lie on one another stay visible,
// because later ones are thinner. `label` says what is drawn, to those who cannot see it. Empty
// where there is nothing to draw. Pure.
std::string Chart(const std::vector<Series>& series, YAxis axis, const std::string& label);

// Text as it stands in HTML and XML.
std::string Escaped(const std::string& text);

}  // namespace tandem::verify
