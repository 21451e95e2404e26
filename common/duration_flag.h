#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace tandem {

// Reads the duration that was given for a flag: finite, and not negative.
//   InvalidArgument  one line that names the flag.
inline absl::StatusOr<absl::Duration> ParseDurationFlag(const std::string& flag,
                                                        const std::string& text) {
  absl::Duration parsed;
  if (absl::ParseDuration(text, &parsed) && parsed >= absl::ZeroDuration() &&
      parsed < absl::InfiniteDuration()) {
    return parsed;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": '", text, "' is not a duration such as 250ms, 10s or 5m"));
}

}  // namespace tandem
