#include "common/spec/plain_text.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace tandem::spec {
std::optional<size_t> FirstByteThatIsNotText(absl::string_view text) {
  for (size_t offset = 0; offset < text.size();) {
    const size_t length = Utf8SequenceLength(text.substr(offset));
    if (length == 0 || text[offset] == '\0') return offset;
    offset += length;
  }
  return std::nullopt;
}

std::string Excerpt(absl::string_view text) {
  constexpr size_t kLongest = 40;
  const absl::string_view shown = text.substr(0, kLongest);
  // The cut may fall inside a character; what is left of it goes too.
  const size_t end = FirstByteThatIsNotText(shown).value_or(shown.size());
  const size_t whole = text.size() > kLongest ? end : shown.size();
  return absl::StrCat(absl::Utf8SafeCEscape(shown.substr(0, whole)),
                      text.size() > kLongest ? "..." : "");
}

}  // namespace tandem::spec
