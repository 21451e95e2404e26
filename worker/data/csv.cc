#include "worker/data/csv.h"

#include <openssl/sha.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/read_file.h"

namespace tandem::data {
namespace {

constexpr size_t kShownFieldBytes = 32;

std::string Quoted(absl::string_view field) {
  const bool cut = field.size() > kShownFieldBytes;
  return absl::StrCat("\"", absl::CHexEscape(field.substr(0, kShownFieldBytes)), cut ? "..." : "",
                      "\"");
}

std::string Sha256Hex(absl::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

class Parser {
 public:
  Parser(absl::string_view text, absl::string_view name, const v1::Csv& spec)
      : rest_(text), name_(name), spec_(spec) {}

  absl::StatusOr<Table> Parse() {
    if (rest_.empty()) return OfFile("the file is empty");
    if (spec_.header()) TakeLine();
    while (!rest_.empty()) {
      if (absl::Status status = AddSample(TakeLine()); !status.ok()) return status;
    }
    if (table_.labels.empty()) return OfFile("the file holds a header and no samples");
    return std::move(table_);
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
    table_.columns = fields - 1;
    const size_t rows = static_cast<size_t>(std::count(rest_.begin(), rest_.end(), '\n')) + 2;
    table_.features.reserve(rows * table_.columns);
    table_.labels.reserve(rows);
    return absl::OkStatus();
  }

  absl::Status CheckWidth(size_t fields) const {
    if (fields == table_.columns + 1) return absl::OkStatus();
    return OfLine(absl::StrCat("expected ", table_.columns + 1, " columns as in line ", FirstLine(),
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
    table_.features.push_back(scaled);
    return absl::OkStatus();
  }

  absl::Status AddLabel(double value, absl::string_view field, size_t column) {
    if (std::trunc(value) != value) return OfField(column, field, "is not a whole number");
    if (!(value >= 0 && value < spec_.classes())) {
      return OfField(column, field,
                     absl::StrCat("is not a label in 0..", spec_.classes() - 1,
                                  " (data.csv.classes is ", spec_.classes(), ")"));
    }
    table_.labels.push_back(static_cast<int64_t>(value));
    return absl::OkStatus();
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
  Table table_;
};

}  // namespace

absl::StatusOr<Table> ReadCsv(const v1::Csv& spec) {
  absl::StatusOr<std::string> text = ReadFile(spec.path());
  if (!text.ok()) return text.status();
  return ParseCsv(*text, spec.path(), spec);
}

absl::StatusOr<Table> ParseCsv(absl::string_view text, absl::string_view name,
                               const v1::Csv& spec) {
  absl::StatusOr<Table> table = Parser(text, name, spec).Parse();
  if (table.ok()) table->sha256 = Sha256Hex(text);
  return table;
}

}  // namespace tandem::data
