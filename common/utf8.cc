#include "common/utf8.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace tandem {
namespace {

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";
constexpr size_t kLongestSequence = 4;

bool IsAscii(char byte) { return static_cast<uint8_t>(byte) < 0x80; }
bool IsContinuation(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

// What `lead` announces; 0: it begins no sequence.
size_t AnnouncedLength(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

// The second byte is bounded where the sequence would be overlong, a surrogate or above U+10FFFF.
bool SecondByteFits(uint8_t lead, uint8_t second) {
  if (lead == 0xE0) return second >= 0xA0;
  if (lead == 0xED) return second < 0xA0;
  if (lead == 0xF0) return second >= 0x90;
  if (lead == 0xF4) return second < 0x90;
  return true;
}

}  // namespace

size_t Utf8SequenceLength(absl::string_view bytes) {
  const size_t length = bytes.empty() ? 0 : AnnouncedLength(static_cast<uint8_t>(bytes[0]));
  if (length == 0 || length > bytes.size()) return 0;
  if (length > 1 && !SecondByteFits(bytes[0], bytes[1])) return 0;
  const absl::string_view rest = bytes.substr(1, length - 1);
  return std::all_of(rest.begin(), rest.end(), IsContinuation) ? length : 0;
}

bool IsUtf8(absl::string_view bytes) {
  size_t length = 0;
  while ((length = Utf8SequenceLength(bytes)) > 0) bytes.remove_prefix(length);
  return bytes.empty();
}

std::string ReplaceInvalidUtf8(absl::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    // A whole run at once: nearly all text is ASCII.
    const auto* run_end = std::find_if_not(bytes.begin(), bytes.end(), IsAscii);
    size_t length = static_cast<size_t>(run_end - bytes.begin());
    if (length == 0) length = Utf8SequenceLength(bytes);
    absl::StrAppend(&text, length > 0 ? bytes.substr(0, length) : kReplacement);
    bytes.remove_prefix(std::max<size_t>(length, 1));
  }
  return text;
}

size_t Utf8PrefixLength(absl::string_view bytes, size_t limit) {
  if (bytes.size() <= limit) return bytes.size();
  size_t length = limit;
  while (length > 0 && limit - length < kLongestSequence && IsContinuation(bytes[length])) --length;
  return length > 0 && !IsContinuation(bytes[length]) ? length : limit;
}

}  // namespace tandem
