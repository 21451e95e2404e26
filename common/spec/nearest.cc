#include "common/spec/nearest.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tandem::spec {
namespace {

// Long enough for any key; keeps a hostile one from costing time.
constexpr size_t kLongestWord = 64;

std::string Normalized(absl::string_view word) {
  std::string normalized = absl::AsciiStrToLower(word.substr(0, kLongestWord));
  std::replace(normalized.begin(), normalized.end(), '-', '_');
  return normalized;
}

// Levenshtein's, one row at a time.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

bool OneContainsTheOther(absl::string_view a, absl::string_view b) {
  constexpr size_t kTelling = 4;
  if (std::min(a.size(), b.size()) < kTelling) return false;
  return absl::StrContains(a, b) || absl::StrContains(b, a);
}

// "batch_size" of "global_batch_size".
bool IsWholePart(absl::string_view part, const std::string& whole) {
  return absl::EndsWith(whole, absl::StrCat("_", part)) ||
         absl::StartsWith(whole, absl::StrCat(part, "_"));
}

}  // namespace

std::optional<std::string> NearestWord(absl::string_view word,
                                       const std::vector<std::string>& candidates) {
  const std::string wanted = Normalized(word);
  std::optional<std::string> nearest;
  // A word of several that was left out is likelier than many letters that are wrong.
  std::pair<bool, size_t> least = {true, std::numeric_limits<size_t>::max()};
  for (const std::string& candidate : candidates) {
    const std::string normalized = Normalized(candidate);
    const size_t distance = EditDistance(wanted, normalized);
    const size_t allowed = (std::max(wanted.size(), normalized.size()) + 2) / 3;
    const bool near = distance <= allowed || OneContainsTheOther(wanted, normalized);
    const bool is_likely = distance == 0 || IsWholePart(wanted, normalized);
    const std::pair<bool, size_t> rank = {!is_likely, distance};
    if (near && rank < least) {
      least = rank;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace tandem::spec
