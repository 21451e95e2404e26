#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"
#include "worker/data/sample_source.h"

namespace tandem::data {

// Samples made up when they are asked for. Each depends on the keys of its kind, `seed` and its index
// alone: not on how many there are, nor on which were made before.
//   InvalidArgument  the keys do not fit each other; names the key.
absl::StatusOr<std::unique_ptr<SampleSource>> MakeSynthetic(const v1::Synthetic& spec,
                                                            uint64_t seed);

}  // namespace tandem::data
