#include "worker/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tandem::data {
namespace {

constexpr size_t kShownFieldBytes = 32;

std::string Quoted(absl::string_view field) {
  const bool cut = field.size() > kShownFieldBytes;
  return absl::StrCat("\"", absl::CHexEscape(field.substr(0, kShownFieldBytes)), cut ? "..." : "",
                      "\"");
}

class Parser {
 public:
  Parser(absl::string_view text, absl::string_view name, const v1::Csv& spec)
      : rest_(text), name_(name), spec_(spec) {}

  absl::StatusOr<Samples> Parse() {
    if (rest_.empty()) return OfFile("the file is empty");
    if (spec_.header()) TakeLine();
    while (!rest_.empty()) {
      if (absl::Status status = AddSample(TakeLine()); !status.ok()) return status;
    }
    if (labels_.empty()) return OfFile("the file holds a header and no samples");
    return TakeSamples();
  }

 private:
  absl::string_view TakeLine() {
    ++line_;
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    absl::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
  }

  absl::Status AddSample(absl::string_view line) {
    if (absl::StripAsciiWhitespace(line).empty()) return OfLine("empty line");
    const size_t fields = static_cast<size_t>(std::count(line.begin(), line.end(), ',')) + 1;
    absl::Status status = line_ == FirstLine() ? SetWidth(fields) : CheckWidth(fields);
    for (size_t column = 0; status.ok() && column < fields; ++column) {
      const size_t end = std::min(line.find(','), line.size());
      status = AddField(line.substr(0, end), column);
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    return status;
  }

  size_t FirstLine() const { return spec_.header() ? 2 : 1; }

  absl::Status SetWidth(size_t fields) {
    if (fields < 2) return OfLine("1 column; a sample needs a feature beside its label");
    if (spec_.label_column() >= static_cast<int64_t>(fields)) {
      return OfLine(absl::StrCat("data.csv.label_column is ", spec_.label_column(),
                                 " (counted from 0), but the file has ", fields, " columns"));
    }
    label_column_ = spec_.label_column() < 0 ? fields - 1 : spec_.label_column();
    columns_ = fields - 1;
    if (!ShapeFits()) {
      return OfFile(absl::StrCat("data.csv.shape is [", absl::StrJoin(spec_.shape(), ", "),
                                 "], but a line has ", columns_, " features"));
    }
    // Each feature of a well-formed text has a comma: no text reserves more than it is long.
    const size_t commas = static_cast<size_t>(std::count(rest_.begin(), rest_.end(), ','));
    features_.reserve(columns_ + commas);
    labels_.reserve(1 + commas / columns_);
    return absl::OkStatus();
  }

  bool ShapeFits() const {
    // As double a product does not wrap, and is exact where it could be equal.
    const double numbers =
        std::accumulate(spec_.shape().begin(), spec_.shape().end(), 1.0, std::multiplies<>());
    return spec_.shape().empty() || numbers == static_cast<double>(columns_);
  }

  absl::Status CheckWidth(size_t fields) const {
    if (fields == columns_ + 1) return absl::OkStatus();
    return OfLine(absl::StrCat("expected ", columns_ + 1, " columns as in line ", FirstLine(),
                               ", found ", fields));
  }

  absl::Status AddField(absl::string_view field, size_t column) {
    field = absl::StripAsciiWhitespace(field);
    double value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error == std::errc::result_out_of_range) return OfField(column, field, "is out of range");
    if (error != std::errc() || end != field.data() + field.size()) {
      return OfField(column, field, absl::StrCat("is not a number", HeaderHint()));
    }
    return column == label_column_ ? AddLabel(value, field, column)
                                   : AddFeature(value, field, column);
  }

  absl::string_view HeaderHint() const {
    return line_ == 1 ? "; if the first line holds names, set data.csv.header: true" : "";
  }

  absl::Status AddFeature(double value, absl::string_view field, size_t column) {
    const float scaled = static_cast<float>(value * spec_.scale());
    if (!std::isfinite(value)) return OfField(column, field, "is not finite");
    if (!std::isfinite(scaled)) return OfField(column, field, "is not finite after data.csv.scale");
    features_.push_back(scaled);
    return absl::OkStatus();
  }

  absl::Status AddLabel(double value, absl::string_view field, size_t column) {
    if (std::trunc(value) != value) return OfField(column, field, "is not a whole number");
    if (!(value >= 0 && value < spec_.classes())) {
      return OfField(column, field,
                     absl::StrCat("is not a label in 0..", spec_.classes() - 1,
                                  " (data.csv.classes is ", spec_.classes(), ")"));
    }
    labels_.push_back(static_cast<int64_t>(value));
    return absl::OkStatus();
  }

  Samples TakeSamples() {
    SampleShape shape{.inputs = {spec_.shape().begin(), spec_.shape().end()},
                      .targets = {},
                      .classes = spec_.classes()};
    if (shape.inputs.empty()) shape.inputs = {static_cast<int64_t>(columns_)};
    const auto count = static_cast<int64_t>(labels_.size());
    return {std::move(shape), count, std::move(features_), std::move(labels_)};
  }

  absl::Status OfFile(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(name_, ": ", what));
  }
  absl::Status OfLine(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(name_, ":", line_, ": ", what));
  }
  absl::Status OfField(size_t column, absl::string_view field, absl::string_view what) const {
    return OfLine(absl::StrCat("column ", column + 1, ": ", Quoted(field), " ", what));
  }

  absl::string_view rest_;
  const absl::string_view name_;
  const v1::Csv& spec_;
  size_t line_ = 0;
  size_t label_column_ = 0;
  size_t columns_ = 0;  // of features
  std::vector<float> features_;
  std::vector<int64_t> labels_;
};

}  // namespace

absl::StatusOr<Samples> ParseCsv(absl::string_view text, absl::string_view name,
                                 const v1::Csv& spec) {
  return Parser(text, name, spec).Parse();
}

}  // namespace tandem::data
