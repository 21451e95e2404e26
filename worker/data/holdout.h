#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace tandem::data {

// Which samples are trained on and which are only measured on; both rising, together 0..n-1.
struct Split {
  std::vector<int64_t> training;
  std::vector<int64_t> held_out;
};

// Chooses round(share * samples) held-out samples from `seed` alone. share is in (0, 1).
//   InvalidArgument  nothing would be left to train on, or nothing to measure on.
absl::StatusOr<Split> HoldOut(int64_t samples, double share, uint64_t seed);

// Everything is trained on.
Split TrainOnAll(int64_t samples);

}  // namespace tandem::data
