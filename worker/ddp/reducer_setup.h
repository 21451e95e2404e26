#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "worker/ddp/gradient_reducer.h"
#include "worker/ddp/named_tensor.h"
#include "worker/ddp/transport.h"

namespace tandem::ddp {

// What GradientReducer::Create finds out before there is a reducer; its errors are listed there.

//   InvalidArgument  they cannot be trained, or are not all on `device` (null: the CPU).
absl::Status CheckParameters(const std::vector<NamedTensor>& parameters,
                             const device::Device* device);

// Collective.
//   FailedPrecondition  a rank has other parameters or options than rank 0.
absl::Status VerifyAgreement(Transport& transport, const std::vector<NamedTensor>& parameters,
                             const GradientReducerOptions& options);

// Indices of `parameters`, bucket by bucket: from the last registered to the first, each bucket of
// at most `bucket_bytes` in float32 unless a single parameter is larger.
std::vector<std::vector<size_t>> AssignBuckets(const std::vector<NamedTensor>& parameters,
                                               size_t bucket_bytes);

}  // namespace tandem::ddp
