#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tandem::spec {

// The candidate that was probably meant: a few edits away, or containing the word. Case, '-' and
// '_' do not count. None when nothing is near.
std::optional<std::string> NearestWord(absl::string_view word,
                                       const std::vector<std::string>& candidates);

}  // namespace tandem::spec
