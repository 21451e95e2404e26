#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tandem::data {

// Whether these bytes begin as a gzip file does (RFC 1952).
bool IsGzip(absl::string_view bytes);

// What a gzip file was made from; several files one after another are taken together. Of more than
// `limit` bytes only the first `limit` are made, else all are checked against their check sums.
//   InvalidArgument  it is damaged or cut; the message starts with `place`.
absl::StatusOr<std::string> Gunzip(absl::string_view bytes, uint64_t limit,
                                   absl::string_view place);

}  // namespace tandem::data
