#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"

namespace tandem::core {

// "a, b, c and 4 more": what `name` says of each of the first three items.
template <typename Items, typename Name>
std::string JoinFew(const Items& items, const Name& name) {
  constexpr size_t kNamed = 3;
  std::string text;
  for (size_t i = 0; i < items.size() && i < kNamed; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", name(items[i]));
  }
  if (items.size() > kNamed) absl::StrAppend(&text, " and ", items.size() - kNamed, " more");
  return text;
}

}  // namespace tandem::core
