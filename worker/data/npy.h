#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/data/array_samples.h"

namespace tandem::data {

// The one array of a file in NumPy's format (versions 1 to 3), a view into `bytes`. Little-endian
// numbers row after row; numpy.lib.format describes it.
//   InvalidArgument  it is no such file, or an array of another kind; the message starts with `place`.
absl::StatusOr<ArrayView> ParseNpy(absl::string_view bytes, absl::string_view place);

// Longer headers are refused; that of an array of numbers is far shorter.
inline constexpr size_t kMaxNpyHeaderBytes = size_t{1} << 16;

// How long the file of this beginning has to be: its header and what that announces. Errors as
// ParseNpy.
absl::StatusOr<uint64_t> NpyFileBytes(absl::string_view beginning, absl::string_view place);

// The file that NumPy wrote for array `name` into the archive of which these are the bytes, inflated
// and checked against its check sum. Of one that is longer than its header announces, as much as
// ParseNpy needs to refuse it.
//   InvalidArgument  it is no archive, or damaged, or has no such array; starts with `place`.
absl::StatusOr<std::string> ExtractNpy(absl::string_view archive, const std::string& name,
                                       absl::string_view place);

}  // namespace tandem::data
