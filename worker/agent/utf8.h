#pragma once

#include <string>
#include <string_view>

namespace tandem::agent {

// The text with every byte that is not part of a well-formed UTF-8 sequence replaced by U+FFFD, as
// protobuf strings require. (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.)
std::string ReplaceInvalidUtf8(std::string_view bytes);

// Length of the longest prefix of at most `limit` bytes that does not cut a sequence in two.
size_t Utf8PrefixLength(std::string_view bytes, size_t limit);

}  // namespace tandem::agent
