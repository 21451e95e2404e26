#include "common/spec/plain_text.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tandem::spec {
namespace {

uint8_t ByteAt(absl::string_view text, size_t offset) {
  return offset < text.size() ? static_cast<uint8_t>(text[offset]) : 0;
}

bool IsBetween(uint8_t byte, uint8_t low, uint8_t high) { return low <= byte && byte <= high; }

// Bytes of the character that starts here, by table 3-7 of the Unicode standard; 0: none does.
size_t CharacterLength(absl::string_view text, size_t offset) {
  const uint8_t first = ByteAt(text, offset);
  if (first < 0x80) return first == 0 ? 0 : 1;
  // Narrower for the second byte where the first alone would allow overlong forms, surrogates or
  // more than U+10FFFF.
  const uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  const size_t length = IsBetween(first, 0xC2, 0xDF)   ? 2
                        : IsBetween(first, 0xE0, 0xEF) ? 3
                        : IsBetween(first, 0xF0, 0xF4) ? 4
                                                       : 0;
  if (length == 0 || !IsBetween(ByteAt(text, offset + 1), low, high)) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (!IsBetween(ByteAt(text, offset + i), 0x80, 0xBF)) return 0;
  }
  return length;
}

}  // namespace

std::optional<size_t> FirstByteThatIsNotText(absl::string_view text) {
  for (size_t offset = 0; offset < text.size();) {
    const size_t length = CharacterLength(text, offset);
    if (length == 0) return offset;
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
