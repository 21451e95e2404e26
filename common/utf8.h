#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
namespace tandem {

// Length of the well-formed sequence, which is one character, at the front; 0: there is none.
size_t Utf8SequenceLength(absl::string_view bytes);

// Whether all of it is.
bool IsUtf8(absl::string_view bytes);

// The text with every byte that is not part of a well-formed sequence replaced by U+FFFD, as
// protobuf strings require.
std::string ReplaceInvalidUtf8(absl::string_view bytes);

// Length of the longest prefix of at most `limit` bytes that does not cut a sequence in two.
size_t Utf8PrefixLength(absl::string_view bytes, size_t limit);

}  // namespace tandem
