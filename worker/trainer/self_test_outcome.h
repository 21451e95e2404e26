#pragma once

#include "absl/status/statusor.h"
#include "tandem/v1/doctor.pb.h"

namespace tandem::trainer {

// What the ranks 0 and 1 of the self-test have found, as one: their counts together, and the first
// difference of rank 0 before that of rank 1.
//   Any code of a rank  it found nothing, says which rank, and why. Of both ranks both are said, since
//                       one whose peer is gone knows that only; the code is that of rank 0.
absl::StatusOr<v1::SelfTestReport> Outcome(const absl::StatusOr<v1::SelfTestReport>& first,
                                           const absl::StatusOr<v1::SelfTestReport>& other);

}  // namespace tandem::trainer
