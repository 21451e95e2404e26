#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tandem::spec {

// The offset of the first byte that is zero or not part of well-formed UTF-8.
std::optional<size_t> FirstByteThatIsNotText(absl::string_view text);

// A piece of the user's own text for a message: on one line, and not long.
std::string Excerpt(absl::string_view text);

}  // namespace tandem::spec
