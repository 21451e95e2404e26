#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tandem {

struct HostPort {
  // A name or an address; one of IPv6 without its brackets.
  std::string host;
  int port = 0;

  // As ParseHostPort reads it.
  std::string ToString() const;
  // Reachable from this machine only.
  bool IsLoopback() const;
};

// "127.0.0.1:4270", "[::1]:0", "localhost:80".
//   InvalidArgument  it is not that, or the port is not 0..65535.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text);

}  // namespace tandem
