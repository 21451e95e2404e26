#include "client/launcher_header.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace tandem::client {
namespace {

bool Begins(absl::string_view text) { return absl::StartsWith(text, "tandem-command "); }

// "  threads        1": a name in a column of its own.
bool GoesOn(absl::string_view text) {
  constexpr size_t kValues = 17;
  return text.size() > kValues && absl::StartsWith(text, "  ") && absl::ascii_islower(text[2]) &&
         text[kValues - 1] == ' ' && text[kValues] != ' ';
}

}  // namespace

bool LauncherHeader::Has(const v1::LogLine& line) {
  if (line.stream() != v1::LOG_STREAM_STDERR) return false;
  Place& place = places_[{line.attempt(), line.rank()}];
  const bool has = (place == Place::kBefore && Begins(line.text())) ||
                   (place == Place::kInside && GoesOn(line.text()));
  place = has ? Place::kInside : Place::kBehind;
  return has;
}

int HeaderLines(const v1::Cause& cause) {
  const auto end =
      std::find_if_not(cause.last_lines().begin(), cause.last_lines().end(),
                       [](const std::string& line) { return Begins(line) || GoesOn(line); });
  return static_cast<int>(end - cause.last_lines().begin());
}

}  // namespace tandem::client
