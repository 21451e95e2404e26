// What only shows between workers.

#include <functional>
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/doctor/diagnose.h"
#include "common/device_slot.h"
#include "common/proto_time.h"
#include "common/slot_request.h"

namespace tandem::client::doctor {
namespace {

using Hosts = google::protobuf::RepeatedPtrField<v1::WorkerHost>;
using Names = std::set<std::string>;
// Who has which value.
using Owners = std::map<std::string, Names>;

// "0.1.0 (a, b); 0.2.0 (c)".
std::string OwnersText(const Owners& owners) {
  return absl::StrJoin(owners, "; ", [](std::string* text, const auto& owner) {
    absl::StrAppend(text, owner.first, " (", absl::StrJoin(owner.second, ", "), ")");
  });
}

// Workers that say nothing about it do not count.
Owners OwnersOf(const Hosts& hosts, const std::function<std::string(const v1::HostFacts&)>& value) {
  Owners owners;
  for (const v1::WorkerHost& host : hosts) {
    if (const std::string text = value(host.facts()); !text.empty())
      owners[text].insert(host.worker());
  }
  return owners;
}

bool OffersCpu(const v1::HostFacts& facts) {
  return absl::c_any_of(facts.slots(),
                        [](const auto& slot) { return KindOfSlot(slot) == kCpuKind; });
}

std::string Collectives(const v1::HostFacts& facts) {
  for (const v1::DeviceLibraryFacts& library : facts.probe().libraries()) {
    if (!library.collectives().empty()) return library.collectives();
  }
  return "";
}

std::string Driver(const v1::HostFacts& facts) {
  for (const v1::DeviceLibraryFacts& library : facts.probe().libraries()) {
    if (!library.driver_version().empty())
      return absl::StrCat(library.kind(), " ", library.driver_version());
  }
  return "";
}

void DiagnoseBuilds(const v1::ListHostsResponse& response, Findings* findings) {
  Owners versions = OwnersOf(response.hosts(), [](const auto& facts) { return facts.version(); });
  versions[response.version()].insert("the coordinator");
  const std::string remedy = "install the same build of Tandem everywhere";
  if (versions.size() > 1) {
    return findings->Problem("build", absl::StrCat("versions differ: ", OwnersText(versions)),
                             remedy);
  }
  const Owners builds =
      OwnersOf(response.hosts(), [](const auto& facts) { return facts.probe().build(); });
  if (builds.size() > 1) {
    return findings->Problem(
        "build", absl::StrCat("trainers differ, and with them the bits: ", OwnersText(builds)),
        remedy);
  }
  findings->Ok("build", absl::StrCat("all have Tandem ", response.version()));
}

void DiagnoseCollectives(const Hosts& hosts, Findings* findings) {
  if (const Owners libraries = OwnersOf(hosts, Collectives); libraries.size() > 1) {
    findings->Problem(
        "NCCL",
        absl::StrCat("versions differ, and may not understand each other: ", OwnersText(libraries)),
        "install one version everywhere");
  }
  if (const Owners drivers = OwnersOf(hosts, Driver); drivers.size() > 1) {
    findings->Note("driver", absl::StrCat("versions differ: ", OwnersText(drivers)),
                   "one version everywhere, if bits should be found to differ between hosts");
  }
}

void DiagnoseModels(const Hosts& hosts, Findings* findings) {
  Owners devices;
  for (const v1::WorkerHost& host : hosts) {
    for (const std::string& slot : host.facts().slots()) {
      if (const auto* device = DeviceOfSlot(slot, host.facts().probe().devices()))
        devices[device->model()].insert(host.worker());
    }
  }
  const std::string remedy =
      "a job keeps its bits on workers of one model only: run a coordinator for each";
  if (devices.size() > 1) {
    findings->Warning("models", absl::StrCat("devices differ: ", OwnersText(devices)), remedy);
  }
  const Owners processors = OwnersOf(
      hosts, [](const v1::HostFacts& facts) { return OffersCpu(facts) ? facts.cpu_model() : ""; });
  if (processors.size() > 1) {
    findings->Warning(
        "models", absl::StrCat("processors of CPU slots differ: ", OwnersText(processors)), remedy);
  }
  if (devices.size() + processors.size() > 0 && devices.size() < 2 && processors.size() < 2) {
    findings->Ok("models", OwnersText(devices.empty() ? processors : devices));
  }
}

// A message takes its time: the worker's clock is ahead by what is seen and by the message's way.
void DiagnoseClocks(const Hosts& hosts, Findings* findings) {
  absl::Duration largest;
  bool is_known = false;
  for (const v1::WorkerHost& host : hosts) {
    if (!host.has_facts()) continue;
    is_known = true;
    const absl::Duration ahead = FromProto(host.facts().wall_clock()) - FromProto(host.heard_at());
    const absl::Duration skew = absl::Trunc(absl::AbsDuration(ahead), absl::Milliseconds(1));
    largest = std::max(largest, skew);
    if (skew <= absl::Seconds(1)) continue;
    const std::string found =
        absl::StrCat("the clock of ", host.worker(), " is ", absl::FormatDuration(skew),
                     ahead > absl::ZeroDuration() ? " ahead of" : " behind",
                     " the coordinator's (to within the way of one message)");
    const std::string remedy = "set it, best by NTP: timedatectl set-ntp true";
    if (skew > absl::Minutes(5)) {
      findings->Problem("clock", absl::StrCat(found, ": certificates and shared file systems fail"),
                        remedy);
    } else {
      findings->Warning("clock", absl::StrCat(found, ": logs and timelines mislead"), remedy);
    }
  }
  if (!is_known || largest > absl::Seconds(1)) return;
  findings->Ok("clock", absl::StrCat("within ",
                                     absl::FormatDuration(std::max(largest, absl::Milliseconds(1))),
                                     " of the coordinator's, the way of one message included"));
}

// Two workers that offer one device would have two ranks on it.
void DiagnoseSharedDevices(const Hosts& hosts, Findings* findings) {
  Owners offered;
  for (const v1::WorkerHost& host : hosts) {
    for (const std::string& slot : host.facts().slots()) {
      const v1::DeviceFacts* device = DeviceOfSlot(slot, host.facts().probe().devices());
      if (device == nullptr || device->uuid().empty()) continue;
      offered[device->uuid()].insert(absl::StrCat(host.worker(), " (", slot, ")"));
    }
  }
  for (const auto& [device, workers] : offered) {
    if (workers.size() < 2) continue;
    findings->Problem("slots",
                      absl::StrCat(device, " is offered by ", absl::StrJoin(workers, " and ")),
                      "stop one of them, or give each its own devices by --slots");
  }
}

void DiagnosePlaces(const Hosts& hosts, Findings* findings) {
  const Owners places = OwnersOf(hosts, [](const auto& facts) { return facts.host(); });
  for (const auto& [place, workers] : places) {
    if (workers.size() < 2) continue;
    findings->Note("hosts",
                   absl::StrCat(absl::StrJoin(workers, " and "), " share the host ", place),
                   "none, as long as their slots together are no more than its devices or cores");
  }
  if (places.size() < 2) return;
  for (const v1::WorkerHost& host : hosts) {
    const std::string& address = host.facts().network().advertise_address();
    if (!absl::StartsWith(address, "127.") && address != "::1") continue;
    findings->Problem("address",
                      absl::StrCat(host.worker(), " says that it is reached at ", address,
                                   ", which other hosts cannot"),
                      "start it with --advertise-address, an address that the other hosts reach");
  }
}

}  // namespace

std::vector<v1::HostFinding> DiagnoseWorkers(const v1::ListHostsResponse& response) {
  std::vector<v1::HostFinding> all;
  const auto append = [&all](std::vector<v1::HostFinding> findings) {
    all.insert(all.end(), findings.begin(), findings.end());
  };
  for (const v1::WorkerHost& host : response.hosts()) {
    const std::string subject = absl::StrCat("worker ", host.worker());
    if (host.has_facts()) {
      append(DiagnoseHost(absl::StrCat(subject, " (", host.facts().host(), ")"), host.facts()));
      continue;
    }
    Findings silent(subject);
    silent.NotChecked("facts", "it has not said yet what it has",
                      "ask again in some seconds; while a rank runs on it, nobody looks");
    append(silent.Take());
  }
  Findings findings("all workers");
  if (response.hosts().empty()) {
    findings.Problem("workers", "none is connected",
                     "tandem-worker --coordinator HOST:PORT --slots auto");
    return findings.Take();
  }
  DiagnoseBuilds(response, &findings);
  DiagnoseClocks(response.hosts(), &findings);
  DiagnoseModels(response.hosts(), &findings);
  DiagnoseCollectives(response.hosts(), &findings);
  DiagnoseSharedDevices(response.hosts(), &findings);
  DiagnosePlaces(response.hosts(), &findings);
  append(findings.Take());
  return all;
}

}  // namespace tandem::client::doctor
