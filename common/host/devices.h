#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tandem/v1/host.pb.h"

namespace tandem::host {

// What `trainer --probe` says, or why it says nothing: its own crash, hang or nonsense is a fact too.
void AddDevices(const std::string& trainer, absl::Duration patience, v1::HostFacts* facts);

// The graphics processors on the bus of which Tandem could use some, by the kernel's list of devices
// (/sys/bus/pci/devices).
std::vector<v1::BusDevice> AcceleratorsIn(const std::string& list);

// Which processes hold memory of devices, from the driver's own program (nvidia-smi), which is looked for
// in PATH.
v1::DeviceMemoryUse AskForDeviceMemory(const std::string& program, absl::Duration patience);

// Its answer: lines of UUID, pid, name and MiB, "GPU-8a5c, 4711, python3, 1200"; numbers may be "[N/A]".
//   InvalidArgument  it is something else.
absl::StatusOr<v1::DeviceMemoryUse> ParseDeviceMemory(const std::string& text);

}  // namespace tandem::host
