#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::data {

// SHA-256 in hexadecimal.
std::string Sha256Hex(absl::string_view bytes);

// SHA-256 over what samples are made from: the keys of `data` and the digests of its files, in the
// order in which they are read. Where a file lies does not count, nor in which order and how fast
// samples are visited.
std::string FingerprintOf(const v1::Data& data, const std::vector<std::string>& file_digests);

}  // namespace tandem::data
