#pragma once

#include <string>

#include "absl/time/time.h"
#include "tandem/v1/host.pb.h"

namespace tandem::host {

struct GatherOptions {
  // tandem-trainer, which is asked for the devices.
  std::string trainer = {};
  // Where ranks on other hosts reach this one; empty: not known.
  std::string advertise_address = {};
  // Where logs and temporary files go.
  std::string temporary = {};
  // For each program that is asked; a driver that wakes up its devices takes some seconds.
  absl::Duration patience = absl::Minutes(1);
};

// Looks at this host. Changes nothing, and cannot fail: what could not be found out says so. Blocks on
// other programs and on the name service, so it is not for a thread that serves.
v1::HostFacts GatherHostFacts(const GatherOptions& options);

// $TMPDIR, else /tmp.
std::string TemporaryPlace();

}  // namespace tandem::host
