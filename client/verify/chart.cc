#include "client/verify/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/verify/page_style.h"
#include "client/verify/scale.h"

namespace tandem::verify {
namespace {

// In units of the drawing, which is stretched to the width of the page.
constexpr double kWidth = 760, kHeight = 300;
constexpr double kLeft = 72, kRight = 16, kTop = 12, kBottom = 40;
// With more steps, dots would only make the curve thick.
constexpr size_t kMostDots = 60;

struct Drawing {
  Scale x, y;

  double X(double step) const { return kLeft + x.PositionOf(step) * (kWidth - kLeft - kRight); }
  double Y(double value) const {
    return kHeight - kBottom - y.PositionOf(value) * (kHeight - kTop - kBottom);
  }
};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

Range RangeOf(const std::vector<Series>& series, YAxis axis) {
  Range range;
  for (const Series& one : series) {
    for (double value : one.values) {
      const bool shown = axis == YAxis::kLinear || value > 0;
      if (std::isfinite(value) && shown) range.Add(value);
    }
  }
  return range;
}

size_t MostSteps(const std::vector<Series>& series) {
  size_t most = 0;
  for (const Series& one : series) most = std::max(most, one.values.size());
  return most;
}

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                         Escaped(text));
}

std::string Line(const char* kind, double x1, double y1, double x2, double y2) {
  return absl::StrFormat("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                         kind, x1, y1, x2, y2);
}

std::string Axes(const Drawing& drawing) {
  const double bottom = kHeight - kBottom;
  std::string svg;
  for (const Tick& tick : drawing.y.ticks()) {
    const double y = bottom - tick.position * (bottom - kTop);
    absl::StrAppend(&svg, Line("grid", kLeft, y, kWidth - kRight, y),
                    Text(kLeft - 8, y + 4, "end", tick.label));
  }
  for (const Tick& tick : drawing.x.ticks()) {
    const double x = kLeft + tick.position * (kWidth - kLeft - kRight);
    absl::StrAppend(&svg, Line("axis", x, bottom, x, bottom + 5),
                    Text(x, bottom + 18, "middle", tick.label));
  }
  absl::StrAppend(&svg, Line("axis", kLeft, bottom, kWidth - kRight, bottom),
                  Text((kLeft + kWidth - kRight) / 2, kHeight - 6, "middle", "step"));
  return svg;
}

double StrokeOf(size_t index) { return std::max(1.5, 6.5 - 2 * static_cast<double>(index)); }

std::string Curve(const Series& series, size_t index, const Drawing& drawing) {
  std::string path, dots;
  bool gap = true;
  for (size_t i = 0; i < series.values.size(); ++i) {
    const double value = series.values[i];
    if (std::isfinite(value)) {
      const double x = drawing.X(static_cast<double>(i + 1)), y = drawing.Y(value);
      absl::StrAppendFormat(&path, "%s%.1f %.1f ", gap ? "M" : "L", x, y);
      absl::StrAppendFormat(&dots, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", x, y,
                            StrokeOf(index) / 2 + 1);
    }
    gap = !std::isfinite(value);
  }
  if (series.values.size() > kMostDots) dots.clear();
  return absl::StrFormat(
      "<g class=\"c%u\"><title>%s</title>\n<path d=\"%s\" stroke-width=\"%.1f\"/>\n%s</g>\n",
      index % kCurveColors, Escaped(series.name), path, StrokeOf(index), dots);
}

}  // namespace

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Chart(const std::vector<Series>& series, YAxis axis, const std::string& label) {
  const Range range = RangeOf(series, axis);
  if (range.low > range.high) return "";
  const Drawing drawing{Scale::Linear(1, static_cast<double>(MostSteps(series))),
                        axis == YAxis::kLinear ? Scale::Linear(range.low, range.high)
                                               : Scale::Logarithmic(range.low, range.high)};
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
      "aria-label=\"%s\">\n%s",
      kWidth, kHeight, Escaped(label), Axes(drawing));
  for (size_t i = 0; i < series.size(); ++i) svg += Curve(series[i], i, drawing);
  return absl::StrCat(svg, "</svg>\n");
}

}  // namespace tandem::verify
