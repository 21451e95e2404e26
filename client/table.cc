#include "client/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tandem::client {
namespace {

std::vector<size_t> ColumnWidths(const std::vector<std::vector<Cell>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].text.size());
  }
  return widths;
}

const char* EscapeOf(Color color) {
  switch (color) {
    case Color::kGreen:
      return "\x1b[32m";
    case Color::kRed:
      return "\x1b[31m";
    case Color::kYellow:
      return "\x1b[33m";
    case Color::kFaint:
      return "\x1b[2m";
    case Color::kNone:
      break;
  }
  return "";
}

}  // namespace

std::string Paint(const std::string& text, Color color) {
  if (color == Color::kNone || text.empty()) return text;
  return absl::StrCat(EscapeOf(color), text, "\x1b[0m");
}

std::string FormatTable(const std::vector<std::vector<Cell>>& rows, bool color) {
  const std::vector<size_t> widths = ColumnWidths(rows);
  std::string table;
  for (const auto& row : rows) {
    std::string gap;
    for (size_t i = 0; i < row.size(); ++i) {
      if (!row[i].text.empty()) {
        absl::StrAppend(&table, gap, color ? Paint(row[i].text, row[i].color) : row[i].text);
        gap.clear();
      }
      gap += std::string(widths[i] - row[i].text.size() + 2, ' ');
    }
    table += '\n';
  }
  return table;
}

}  // namespace tandem::client
