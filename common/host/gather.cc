#include "common/host/gather.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/host/devices.h"
#include "common/host/limits.h"
#include "common/host/network.h"
#include "common/host/processes.h"
#include "common/proto_time.h"
#include "common/version.h"

namespace tandem::host {
namespace {

// The driver's own program answers within a second, or hangs.
constexpr absl::Duration kMemoryPatience = absl::Seconds(10);

// As the kernel has it; empty where it does not say.
std::string CpuModel() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    return std::string(absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)));
  }
  return "";
}

void AddSystem(v1::HostFacts* facts) {
  utsname system = {};
  uname(&system);
  facts->set_host(system.nodename);
  facts->set_kernel(absl::StrCat(system.sysname, " ", system.release));
  facts->set_version(kVersion);
  facts->set_cpu_model(CpuModel());
  facts->set_cores(std::thread::hardware_concurrency());
  *facts->mutable_wall_clock() = ToProto(absl::Now());
}

}  // namespace

v1::HostFacts GatherHostFacts(const GatherOptions& options) {
  v1::HostFacts facts;
  AddSystem(&facts);
  AddDevices(options.trainer, options.patience, &facts);
  for (const v1::BusDevice& card : AcceleratorsIn("/sys/bus/pci/devices")) {
    *facts.add_accelerators() = card;
  }
  *facts.mutable_device_memory() =
      AskForDeviceMemory("nvidia-smi", std::min(options.patience, kMemoryPatience));
  *facts.mutable_shared_memory() = SpaceOf("/dev/shm");
  *facts.mutable_temporary() = SpaceOf(options.temporary);
  *facts.mutable_limits() = LimitsOfThisProcess();
  *facts.mutable_network() = LookAtNetwork(facts.host(), options.advertise_address);
  for (const v1::StaleProcess& stale : StaleTrainers(ProcessesOf(getuid()))) {
    *facts.add_stale() = stale;
  }
  return facts;
}

std::string TemporaryPlace() {
  const char* place = std::getenv("TMPDIR");
  return place == nullptr || *place == '\0' ? "/tmp" : place;
}

}  // namespace tandem::host
