#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/sha256.h"
#include "worker/ddp/named_tensor.h"
#include "worker/ddp/transport.h"

namespace tandem::ddp {

// SHA-256 over names, dtypes, shapes and values (row by row, whatever the strides), in order; 64
// lower-case hexadecimal digits. Compare only digests made on the same kind of machine.
std::string ParameterDigest(absl::Span<const NamedTensor> tensors);

// SHA-256 over names, dtypes and shapes alone, in order.
Sha256::Digest DescriptionDigest(absl::Span<const NamedTensor> tensors);

// Collective: whether all ranks have the same tensors. One small exchange where they do.
//   FailedPrecondition  they do not: names the first tensor that differs, and the rank that differs
//                       from rank 0.
//   others              as Transport.
absl::Status VerifyEqualDigests(Transport& transport, absl::Span<const NamedTensor> tensors);

}  // namespace tandem::ddp
