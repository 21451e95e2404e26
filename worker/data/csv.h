#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::data {

// Labelled samples in memory.
struct Table {
  size_t rows() const { return labels.size(); }

  size_t columns = 0;           // features of one sample, at least 1
  std::vector<float> features;  // rows x columns, row after row, all finite
  std::vector<int64_t> labels;  // rows, each in 0..classes-1
  std::string sha256;           // of the file's bytes, in hexadecimal
};

// Reads a whole file of comma-separated numbers, one sample a line, all lines of equal width. Lines
// end in LF or CRLF; the last may lack it. A field may have blanks around it, but no quotes.
//   InvalidArgument  the file cannot be opened or breaks a rule; the message starts with
//                    "PATH:LINE:" (lines counted from 1) or, where it is about the whole file, with
//                    "PATH:", and names the column (counted from 1).
absl::StatusOr<Table> ReadCsv(const v1::Csv& spec);

// The same for text already in memory; `name` stands for the path in messages.
absl::StatusOr<Table> ParseCsv(absl::string_view text, absl::string_view name, const v1::Csv& spec);

}  // namespace tandem::data
