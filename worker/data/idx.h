#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/data/array_samples.h"

namespace tandem::data {

// The array of a file in the format of MNIST, a view into `bytes`: two zero bytes, 8 for unsigned
// bytes, the number of dimensions, their sizes as four bytes each, the highest first, and the
// elements.
//   InvalidArgument  it is no such file or of other numbers, has not `dimensions` dimensions, or not
//                    as many bytes as they say; the message starts with `place`.
absl::StatusOr<ArrayView> ParseIdx(absl::string_view bytes, size_t dimensions,
                                   absl::string_view place);

inline constexpr size_t kMaxIdxHeaderBytes = 16;  // of three dimensions

// How long the file of this beginning has to be: its header and what that announces. Errors as
// ParseIdx.
absl::StatusOr<uint64_t> IdxFileBytes(absl::string_view beginning, size_t dimensions,
                                      absl::string_view place);

}  // namespace tandem::data
