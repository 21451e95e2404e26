#pragma once

#include <memory>
#include <string>

#include "absl/base/attributes.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/ddp/membership.h"
#include "worker/ddp/transport.h"
#include "worker/device/device.h"
#include "worker/nccl/nccl_library.h"

namespace tandem::nccl {

struct NcclOptions {
  // For all ranks to connect.
  absl::Duration connect_timeout = absl::Seconds(60);
  // Silence within one exchange that counts as an error; also what a rank waits for a slower one.
  absl::Duration exchange_timeout = absl::Minutes(5);
  // For each step of the end: for the others to take leave, for NCCL and for the device to let go.
  absl::Duration ending_timeout = absl::Seconds(5);
};

// Connects all ranks of the attempt, each with the id that rank 0 minted (NcclLibrary::MintUniqueId).
// Collective. `library` and `device` outlive the transport. Exchanges take main memory, or memory of
// `device`, which is quicker; none outlives the transport. (A world of one connects with itself;
// LocalTransport does without.)
// Exchanges end in Unavailable only where NCCL notices that a peer is gone: over a network. Between
// devices of one host nobody does; such a peer is silent, until `exchange_timeout` or until the rank is
// ended from outside.
// Where NCCL or the device hangs in the end of an exchange, the cause is told all the same, after
// `ending_timeout`: buffers are then the device's for good, and the process is to end.
//   DeadlineExceeded    a rank did not connect within `connect_timeout`; or NCCL does not tell what is
//                       wrong: a rank died when it had been heard of, or ranks disagree about the world
//                       size (NCCL_DEBUG=WARN says so on rank 0).
//   Unavailable         a rank is gone.
//   FailedPrecondition  the id has not the size of one.
//   Internal            anything else, in NCCL's words.
absl::StatusOr<std::unique_ptr<ddp::Transport>> ConnectNccl(
    const NcclLibrary& library ABSL_ATTRIBUTE_LIFETIME_BOUND,
    device::Device& device ABSL_ATTRIBUTE_LIFETIME_BOUND, const ddp::Membership& self,
    const std::string& unique_id, const NcclOptions& options);

}  // namespace tandem::nccl
