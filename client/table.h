#pragma once

#include <string>
#include <vector>

namespace tandem::client {

// Colours of a terminal; no colour stands for a pipe.
enum class Color { kNone, kGreen, kRed, kYellow, kFaint };

struct Cell {
  std::string text;
  Color color = Color::kNone;
};

std::string Paint(const std::string& text, Color color);

// Rows of equal length as columns of equal width, two spaces apart, without spaces at the end of a
// line. Colours are left out unless wanted.
std::string FormatTable(const std::vector<std::vector<Cell>>& rows, bool color);

}  // namespace tandem::client
