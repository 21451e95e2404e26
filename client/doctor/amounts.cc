#include "client/doctor/amounts.h"

#include <array>
#include <cstdio>
#include <iterator>

#include "absl/strings/str_format.h"

namespace tandem::client::doctor {

std::string BytesText(uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  size_t unit = 0;
  while (amount >= 1024 && unit + 1 < std::size(kUnits)) {
    amount /= 1024;
    ++unit;
  }
  const bool is_whole = amount == static_cast<double>(static_cast<uint64_t>(amount));
  return absl::StrFormat(is_whole ? "%.0f %s" : "%.1f %s", amount, kUnits[unit]);
}

std::optional<MajorMinor> VersionIn(const std::string& text) {
  const size_t begin = text.find_first_of("0123456789");
  if (begin == std::string::npos) return std::nullopt;
  MajorMinor version = {0, 0};
  const int read = std::sscanf(text.c_str() + begin, "%d.%d", &version.first, &version.second);
  return read == 2 ? std::optional(version) : std::nullopt;
}

}  // namespace tandem::client::doctor
