#include "worker/data/text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace tandem::data {
namespace {

// Above the largest code point, U+10FFFF.
constexpr size_t kCodePoints = 0x110000;

// Of one well-formed sequence: the payload of its first byte, then six bits of each other.
uint32_t CodePointOf(absl::string_view sequence) {
  const auto lead = static_cast<uint8_t>(sequence[0]);
  uint32_t code_point = sequence.size() == 1 ? lead : lead & (0xFF >> (sequence.size() + 1));
  for (const char byte : sequence.substr(1)) code_point = code_point << 6 | (byte & 0x3F);
  return code_point;
}

absl::StatusOr<std::vector<uint32_t>> CodePointsOf(absl::string_view text,
                                                   absl::string_view place) {
  std::vector<uint32_t> code_points;
  code_points.reserve(text.size());
  int64_t line = 1;
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    if (length == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, ": line ", line, " is not UTF-8; data.text.unit: bytes reads any file"));
    }
    line += text[0] == '\n' ? 1 : 0;
    code_points.push_back(CodePointOf(text.substr(0, length)));
    text.remove_prefix(length);
  }
  return code_points;
}

// Replaces each code point by its place among those that occur; returns how many do.
int64_t Number(std::vector<uint32_t>* code_points) {
  std::vector<uint32_t> token_of(kCodePoints, 0);
  for (const uint32_t code_point : *code_points) token_of[code_point] = 1;
  uint32_t vocabulary = 0;
  for (uint32_t& token : token_of) {
    if (token != 0) token = vocabulary++;
  }
  for (uint32_t& code_point : *code_points) code_point = token_of[code_point];
  return vocabulary;
}

void CopyTokens(const uint32_t* from, NumberSpan to) {
  const auto span = std::get<absl::Span<int64_t>>(to);
  std::copy_n(from, span.size(), span.data());
}

}  // namespace

absl::StatusOr<Tokens> Tokenize(absl::string_view text, v1::TextUnit unit,
                                absl::string_view place) {
  if (unit == v1::TEXT_UNIT_BYTES) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
    return Tokens{{bytes, bytes + text.size()}, 256};
  }
  absl::StatusOr<std::vector<uint32_t>> code_points = CodePointsOf(text, place);
  if (!code_points.ok()) return code_points.status();
  const int64_t vocabulary = Number(&*code_points);
  return Tokens{*std::move(code_points), vocabulary};
}

absl::StatusOr<TextSource> TextSource::Create(Tokens tokens, int64_t window, int64_t stride,
                                              absl::string_view place) {
  if (static_cast<int64_t>(tokens.tokens.size()) > window) {
    return TextSource(std::move(tokens), window, stride);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(place, ": ", tokens.tokens.size(), " tokens are too few: data.text.window is ",
                   window, ", and the last of them has a target after it"));
}

TextSource::TextSource(Tokens tokens, int64_t window, int64_t stride)
    : tokens_(std::move(tokens.tokens)),
      stride_(stride),
      size_((static_cast<int64_t>(tokens_.size()) - window - 1) / stride + 1),
      shape_{.inputs = {window},
             .vocabulary = tokens.vocabulary,
             .targets = {window},
             .classes = tokens.vocabulary} {}

void TextSource::Copy(int64_t index, NumberSpan input, NumberSpan target) const {
  const uint32_t* begin = tokens_.data() + index * stride_;
  CopyTokens(begin, input);
  CopyTokens(begin + 1, target);
}

}  // namespace tandem::data
