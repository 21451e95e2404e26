#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/ddp/rendezvous.h"
#include "worker/ddp/transport.h"

namespace tandem::ddp {

struct GlooOptions {
  // This host's address, numeric, on which the other ranks reach this one.
  std::string address = "127.0.0.1";
  // For all ranks to connect.
  absl::Duration connect_timeout = absl::Seconds(60);
  // Silence of a peer within one exchange that counts as an error; also what a rank waits for a
  // slower one.
  absl::Duration exchange_timeout = absl::Minutes(5);
};

// Connects all ranks of the attempt with each other over TCP, Gloo's way. Collective: `rendezvous`
// has seen AwaitAll on every rank, and must outlive this call only. A world of one gets a transport
// without any network.
//   Unavailable       a peer is gone or cannot be reached.
//   DeadlineExceeded  a peer did not connect within `connect_timeout`.
absl::StatusOr<std::unique_ptr<Transport>> ConnectGloo(const Rendezvous& rendezvous,
                                                       const GlooOptions& options);

}  // namespace tandem::ddp
