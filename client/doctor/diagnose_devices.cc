#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/doctor/amounts.h"
#include "client/doctor/diagnose.h"
#include "common/device_slot.h"

namespace tandem::client::doctor {
namespace {

// What the exchange between devices is tested with.
constexpr MajorMinor kTestedCollectives = {2, 28};

using Devices = std::vector<v1::DeviceFacts>;

// Of a worker, those that it offers.
Devices DevicesOf(const v1::HostFacts& facts, const std::string& kind) {
  Devices devices;
  for (const v1::DeviceFacts& device : facts.probe().devices()) {
    const bool counts =
        facts.slots().empty() || absl::c_linear_search(facts.slots(), SlotOf(device));
    if (device.kind() == kind && counts) devices.push_back(device);
  }
  return devices;
}

bool Reaches(const v1::DeviceFacts& from, const v1::DeviceFacts& to) {
  return absl::c_linear_search(from.peers(), to.index());
}

std::string CardsText(const v1::HostFacts& facts) {
  std::vector<std::string> cards;
  for (const v1::BusDevice& card : facts.accelerators()) {
    cards.push_back(absl::StrCat(card.vendor(), " at ", card.bus_id()));
  }
  return absl::StrJoin(cards, ", ");
}

void DiagnoseProbe(const v1::HostFacts& facts, Findings* findings) {
  if (facts.trainer_missing()) {
    return findings->Warning("devices", facts.probe_problem() + ": nothing can be trained here",
                             "keep all programs of Tandem in one folder");
  }
  if (!facts.probe_problem().empty()) {
    return findings->Problem(
        "devices", facts.probe_problem(),
        "run `tandem-trainer --probe` by hand, and look into dmesg for what the driver says; CPU "
        "slots need none of it");
  }
  if (!facts.probe().libraries().empty()) return;
  if (facts.accelerators().empty()) {
    return findings->NotChecked(
        "devices",
        "no GPU on the bus, and this build is for CPUs: drivers, P2P and NCCL are not looked at");
  }
  findings->Warning("devices",
                    absl::StrCat("this build is for CPUs and cannot use ", CardsText(facts)),
                    "build Tandem with the preset cuda");
}

void DiagnoseDriver(const v1::HostFacts& facts, const v1::DeviceLibraryFacts& library,
                    Findings* findings) {
  if (!library.problem().empty() && facts.accelerators().empty()) {
    return findings->NotChecked(library.kind(), library.problem());
  }
  if (!library.problem().empty()) {
    return findings->Problem(
        library.kind(), absl::StrCat(library.problem(), " (on the bus: ", CardsText(facts), ")"),
        "install the vendor's driver; in a container, hand the devices in (docker run --gpus all)");
  }
  const auto runtime = VersionIn(library.runtime_version());
  const auto driver = VersionIn(library.driver_version());
  const std::string versions = absl::StrCat("built for ", library.runtime_version(),
                                            ", the driver is for ", library.driver_version());
  if (!runtime || !driver) {
    return findings->NotChecked(library.kind(), "the versions of driver and library are not known");
  }
  if (*driver >= *runtime) return findings->Ok(library.kind(), versions);
  if (driver->first == runtime->first) {
    return findings->Note(
        library.kind(), versions,
        "a newer driver, should a kernel be refused: only the first figure has to be equal");
  }
  findings->Problem(library.kind(), versions,
                    "install a newer driver, or a build for the older one");
}

// Who holds memory of the device; our own ranks are no strangers.
void DiagnoseMemory(const v1::HostFacts& facts, const v1::DeviceFacts& device, Findings* findings) {
  const std::string found = absl::StrFormat(
      "%s (%s, capability %s): %s of %s are free", SlotOf(device), device.model(),
      device.compute_capability(), BytesText(device.free_bytes()), BytesText(device.total_bytes()));
  constexpr uint64_t kTenths = 10;
  if (device.free_bytes() >= device.total_bytes() / kTenths * 9) {
    return findings->Ok("devices", found);
  }
  std::vector<std::string> holders, pids;
  bool all_ours = true;
  for (const v1::DeviceProcess& process : facts.device_memory().processes()) {
    if (process.uuid() != device.uuid()) continue;
    holders.push_back(absl::StrCat("pid ", process.pid(), " (", process.name(), ") holds ",
                                   BytesText(process.bytes())));
    pids.push_back(absl::StrCat(process.pid()));
    all_ours = all_ours && std::filesystem::path(process.name()).filename() == "tandem-trainer";
  }
  if (holders.empty()) {
    const std::string& why = facts.device_memory().problem();
    return findings->Warning(
        "devices",
        absl::StrCat(found, "; who holds the rest is not known", why.empty() ? "" : ": ", why),
        "look with nvidia-smi, outside of a container");
  }
  const std::string held = absl::StrCat(found, "; ", absl::StrJoin(holders, ", "));
  if (all_ours) return findings->Note("devices", held);
  const std::string remedy =
      absl::StrCat("stop it if it is a leftover (kill ", absl::StrJoin(pids, " "),
                   "), or leave the device out of --slots");
  if (device.free_bytes() < device.total_bytes() / kTenths) {
    return findings->Problem("devices", held, remedy);
  }
  findings->Warning("devices", held, remedy);
}

void DiagnosePeers(const Devices& devices, Findings* findings) {
  std::vector<std::string> apart;
  for (size_t i = 0; i < devices.size(); ++i) {
    for (size_t j = i + 1; j < devices.size(); ++j) {
      if (Reaches(devices[i], devices[j]) && Reaches(devices[j], devices[i])) continue;
      apart.push_back(absl::StrCat(SlotOf(devices[i]), " and ", SlotOf(devices[j])));
    }
  }
  if (apart.empty()) {
    return findings->Ok("P2P", absl::StrCat("each of ", devices.size(),
                                            " devices reaches the memory of each other"));
  }
  constexpr size_t kNamed = 4;
  const size_t named = std::min(apart.size(), kNamed);
  const std::string more =
      apart.size() > named ? absl::StrCat(" and ", apart.size() - named, " more pairs") : "";
  findings->Warning(
      "P2P",
      absl::StrCat(
          absl::StrJoin(apart.begin(), apart.begin() + static_cast<ptrdiff_t>(named), ", "), more,
          " do not reach each other's memory: exchanges go through main memory"),
      kExchangeRemedy);
}

void DiagnoseCollectives(const v1::DeviceLibraryFacts& library, size_t devices,
                         Findings* findings) {
  if (library.collectives().empty()) {
    const std::string found =
        library.collectives_problem().empty() ? "not found" : library.collectives_problem();
    const std::string remedy = "`./dev setup --cuda`, or the vendor's package (libnccl2)";
    if (devices < 2)
      return findings->Note("NCCL", found, "needed as soon as a job uses two devices: " + remedy);
    return findings->Problem("NCCL", found, remedy);
  }
  const auto version = VersionIn(library.collectives());
  if (version && *version < kTestedCollectives) {
    return findings->Warning(
        "NCCL",
        absl::StrFormat("%s, older than the %d.%d that Tandem is tested with",
                        library.collectives(), kTestedCollectives.first, kTestedCollectives.second),
        "`./dev setup --cuda` fetches the tested one");
  }
  findings->Ok("NCCL", library.collectives());
}

void DiagnoseModels(const Devices& devices, Findings* findings) {
  std::set<std::string> models;
  for (const v1::DeviceFacts& device : devices) models.insert(device.model());
  if (models.size() < 2) return;
  findings->Warning("devices",
                    absl::StrCat("models differ (", absl::StrJoin(models, ", "),
                                 "): equal bits need equal models"),
                    "offer one model only, by --slots");
}

}  // namespace

void DiagnoseDevices(const v1::HostFacts& facts, Findings* findings) {
  DiagnoseProbe(facts, findings);
  for (const v1::DeviceLibraryFacts& library : facts.probe().libraries()) {
    DiagnoseDriver(facts, library, findings);
    const Devices devices = DevicesOf(facts, library.kind());
    if (devices.empty()) continue;
    for (const v1::DeviceFacts& device : devices) DiagnoseMemory(facts, device, findings);
    DiagnoseModels(devices, findings);
    DiagnoseCollectives(library, devices.size(), findings);
    if (devices.size() > 1) DiagnosePeers(devices, findings);
  }
}

}  // namespace tandem::client::doctor
