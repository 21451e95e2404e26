#include "worker/agent/offered_slots.h"

#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/device_slot.h"

namespace tandem::agent {
namespace {

using Names = std::vector<std::string>;

// All of this kind; all of all for an empty one.
Names DevicesOf(const std::string& kind, const v1::ProbeReport& report) {
  Names names;
  for (const v1::DeviceFacts& device : report.devices()) {
    if (kind.empty() || device.kind() == kind) names.push_back(SlotOf(device));
  }
  return names;
}

Names CpuSlots(uint32_t count) {
  Names names;
  for (uint32_t i = 0; i < count; ++i) names.push_back(absl::StrCat(kCpuKind, ":", i));
  return names;
}

std::string KindsOf(const v1::ProbeReport& report) {
  return absl::StrJoin(report.libraries(), ", ", [](std::string* out, const auto& library) {
    absl::StrAppend(out, library.kind());
  });
}

std::string WhyNoDevice(const v1::ProbeReport& report) {
  if (report.libraries().empty()) return "this build is for the CPU alone";
  return absl::StrJoin(report.libraries(), "; ", [](std::string* out, const auto& library) {
    absl::StrAppend(out, library.kind(), ": ",
                    library.problem().empty() ? "none was found" : library.problem());
  });
}

absl::Status CheckKind(const SlotRequest& request, const v1::ProbeReport& report) {
  const std::string first = absl::StrCat(
      request.kind, ":", request.indices.empty() ? "all" : absl::StrCat(request.indices[0]));
  for (const v1::DeviceLibraryFacts& library : report.libraries()) {
    if (library.kind() != request.kind) continue;
    if (library.problem().empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(first, ": ", library.problem()));
  }
  const std::string kinds = KindsOf(report);
  return absl::FailedPreconditionError(
      absl::StrCat(first, ": this build has no devices of kind ", request.kind, ", only cpu",
                   kinds.empty() ? "" : " and ", kinds, " (docs/gpu.md: Build)"));
}

absl::StatusOr<Names> Devices(const SlotRequest& request, const v1::ProbeReport& report) {
  if (absl::Status checked = CheckKind(request, report); !checked.ok()) return checked;
  const Names all = DevicesOf(request.kind, report);
  const std::string there = all.empty() ? "none of that kind" : absl::StrJoin(all, ", ");
  if (request.indices.empty() && !all.empty()) return all;
  Names names;
  for (const uint32_t index : request.indices) {
    names.push_back(absl::StrCat(request.kind, ":", index));
    if (std::find(all.begin(), all.end(), names.back()) != all.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(names.back(), ": this host has ", there));
  }
  if (!names.empty()) return names;
  return absl::FailedPreconditionError(absl::StrCat(request.kind, ":all: this host has ", there));
}

OfferedSlots Best(const v1::ProbeReport& report, uint32_t cores) {
  OfferedSlots offered{.names = DevicesOf("", report), .remark = ""};
  if (!offered.names.empty()) return offered;
  offered.names = CpuSlots(std::max(1U, cores / 2));
  offered.remark = absl::StrCat("no device is offered: ", WhyNoDevice(report));
  return offered;
}

absl::Status CheckEachIsThereOnce(const Names& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(name, " is there twice"));
  }
  return absl::OkStatus();
}

}  // namespace

bool NeedsProbe(const std::vector<SlotRequest>& requests) {
  return std::any_of(requests.begin(), requests.end(),
                     [](const SlotRequest& request) { return request.kind != kCpuKind; });
}

absl::StatusOr<OfferedSlots> OfferSlots(const std::vector<SlotRequest>& requests,
                                        const v1::ProbeReport& report, uint32_t cores) {
  OfferedSlots offered;
  for (const SlotRequest& request : requests) {
    if (request.is_auto()) {
      if (requests.size() == 1) return Best(report, cores);
      return absl::InvalidArgumentError("auto goes with no other slots");
    }
    const absl::StatusOr<Names> names =
        request.kind == kCpuKind ? CpuSlots(request.count) : Devices(request, report);
    if (!names.ok()) return names.status();
    offered.names.insert(offered.names.end(), names->begin(), names->end());
  }
  if (absl::Status checked = CheckEachIsThereOnce(offered.names); !checked.ok()) return checked;
  return offered;
}

}  // namespace tandem::agent
