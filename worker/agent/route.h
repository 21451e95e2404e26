#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/host_port.h"

namespace tandem::agent {

// Whether it is an IPv4 or IPv6 address in figures, without brackets.
bool IsNumericAddress(const std::string& text);

// The address of this host from which `target` is reached, which is how hosts beside it reach this
// one: 127.0.0.1 when the target is on this host's loopback. Sends nothing. May block on the name
// service.
//   Unavailable  the name cannot be resolved, or there is no route.
absl::StatusOr<std::string> LocalAddressTowards(const HostPort& target);

}  // namespace tandem::agent
