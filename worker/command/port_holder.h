#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tandem::command {

// Inodes of the sockets at this local port in the text of /proc/net/tcp or tcp6: those that listen first.
// Connections whose process has ended have none.
std::vector<uint64_t> SocketsAtPort(absl::string_view table, uint16_t port);

// Who has a TCP port of this host: "pid 4711 (python3 train.py)", or words for a process that cannot be seen.
std::string DescribePortHolder(uint16_t port);

}  // namespace tandem::command
