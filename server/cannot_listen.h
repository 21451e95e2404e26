#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/host_port.h"

namespace tandem {

// One line for the case that listening failed: why, and where to look next. Always Unavailable.
absl::Status CannotListen(absl::string_view flag, const HostPort& address);

}  // namespace tandem
