#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tandem::data {

// Whether these bytes begin as a gzip file does (RFC 1952).
bool IsGzip(absl::string_view bytes);

// What a gzip file was made from, checked against its check sum; several files one after another are
// taken together.
//   InvalidArgument  it is damaged or cut; the message starts with `place`.
absl::StatusOr<std::string> Gunzip(absl::string_view bytes, absl::string_view place);

}  // namespace tandem::data
