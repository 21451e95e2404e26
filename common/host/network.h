#pragma once

#include <string>

#include "absl/status/status.h"
#include "tandem/v1/host.pb.h"

namespace tandem::host {

// Tries the loopback interface, resolves `host` (the host's own name) and binds `advertise_address` if it
// is not empty. Blocks on the name service.
v1::NetworkFacts LookAtNetwork(const std::string& host, const std::string& advertise_address);

// Listens on a numeric address, connects to it from this process, and closes both.
//   Unavailable      it cannot: names the call.
//   InvalidArgument  it is no numeric address.
absl::Status ConnectToSelf(const std::string& address);

}  // namespace tandem::host
