#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tandem {

struct ListenAddress {
  std::string host;
  int port = 0;

  std::string ToString() const;
  // Reachable from this machine only.
  bool IsLoopback() const;
};

// "127.0.0.1:4270", "[::1]:0", "localhost:80".
//   InvalidArgument  the message names the flag.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view flag, absl::string_view text);

// One line for the case that listening failed: why, and where to look next. Always Unavailable.
absl::Status CannotListen(absl::string_view flag, const ListenAddress& address);

}  // namespace tandem
