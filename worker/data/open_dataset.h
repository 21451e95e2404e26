#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"
#include "worker/data/dataset.h"

namespace tandem::data {

// Reads, checks or makes the samples of any kind of `data`, all defaults of which are filled in.
// `seed` is the job's; only synthetic samples come from it.
//   InvalidArgument  a file cannot be read, breaks a rule or does not fit the specification; the
//                    message names the file, the place in it and the key.
absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(const v1::Data& data, uint64_t seed);

}  // namespace tandem::data
