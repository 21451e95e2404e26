#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/file_descriptor.h"

namespace tandem::command {

// A TCP port that nobody else can have as long as the socket is open.
struct HeldPort {
  FileDescriptor socket;  // close-on-exec
  uint16_t port = 0;
};

// Listens on `address` (numeric, IPv4 or IPv6) at `port`; 0: one that the system chooses.
//   InvalidArgument  `address` is not a numeric address.
//   AlreadyExists    the port is taken; the message names the holder.
//   Unavailable      the system refuses: `address` is not one of this host's, the port is privileged.
absl::StatusOr<HeldPort> ListenOn(const std::string& address, uint16_t port);

// Takes the port on all addresses without listening: for a program that will bind it itself as soon as the
// socket is closed. Errors are those of ListenOn.
absl::StatusOr<HeldPort> ReservePort(uint16_t port);

}  // namespace tandem::command
