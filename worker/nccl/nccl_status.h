#pragma once

#include <string>

#include "absl/status/status.h"
#include "worker/nccl/nccl_api.h"

namespace tandem::nccl {

// What went wrong in NCCL's words, on one line: what the code means, and the last warning if there
// was one. `comm` may be null.
std::string TextOf(const NcclApi& api, NcclComm* comm, NcclResult result);

// As a status:
//   Unavailable         a peer is gone.
//   FailedPrecondition  ranks do not call the same.
//   Internal            anything else.
absl::Status StatusOf(const NcclApi& api, NcclComm* comm, NcclResult result);

}  // namespace tandem::nccl
