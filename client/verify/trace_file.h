#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/verify/evidence.h"

namespace tandem::verify {

// The traces of `world_size` ranks in a folder: rank-0.trace and so on, as trace.proto describes them.
// A last record that is not there as a whole is left out: its rank was stopped while it wrote.
//   NotFound  a file is missing, cannot be read or has no header.
//   DataLoss  a file is no trace.
absl::StatusOr<std::vector<RankTrace>> ReadTraces(const std::string& folder, uint32_t world_size);

}  // namespace tandem::verify
