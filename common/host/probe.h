#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tandem/v1/host.pb.h"

namespace tandem::host {

// Long enough for a driver that loads its libraries from a cold disk.
inline constexpr absl::Duration kProbePatience = absl::Seconds(60);

// What devices this host has, as `TRAINER --probe` says: a process of its own, so that no driver is ever
// loaded into this one, and gone when this returns. Blocks up to `patience`.
//   Unavailable  it cannot be started, fails, crashes, takes longer or prints something else: one line
//                says which, with what it said last.
absl::StatusOr<v1::ProbeReport> ProbeDevices(const std::string& trainer, absl::Duration patience);

}  // namespace tandem::host
