#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/host_port.h"

namespace tandem {

// Writes "grpc HOST:PORT" and "http HOST:PORT", a line each, all at once: a reader sees both or no
// file.
//   Internal  the file cannot be written.
absl::Status WritePortFile(const std::string& path, const HostPort& grpc, const HostPort& http);

}  // namespace tandem
