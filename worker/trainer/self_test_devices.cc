#include "worker/trainer/self_test_devices.h"

#include "absl/strings/str_cat.h"
#include "common/device_slot.h"
#include "common/slot_request.h"

namespace tandem::trainer {
namespace {

const v1::DeviceLibraryFacts* LibraryOf(const v1::ProbeReport& host, const std::string& kind) {
  for (const v1::DeviceLibraryFacts& library : host.libraries()) {
    if (library.kind() == kind) return &library;
  }
  return nullptr;
}

absl::Status NoDevice(const std::string& slot, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat("there is no device ", slot, ": ", why));
}

absl::StatusOr<SelfTestPlace> PlaceOf(const std::string& kind, const std::string& slot,
                                      const v1::ProbeReport& host,
                                      const host::HasVariable& has_variable) {
  const v1::DeviceLibraryFacts* library = LibraryOf(host, kind);
  const v1::DeviceFacts* device = DeviceOfSlot(slot, host.devices());
  if (library == nullptr) return NoDevice(slot, "this build has no library for its kind");
  if (device == nullptr && !library->problem().empty()) return NoDevice(slot, library->problem());
  if (device == nullptr)
    return NoDevice(slot, "`tandem-trainer --probe` lists those that there are");
  SelfTestPlace place{.slot = slot, .environment = {}};
  for (const auto& variable :
       host::TrainerEnvironment(slot, host, /*all_are_here=*/true, has_variable)) {
    place.environment.push_back(absl::StrCat(variable.name(), "=", variable.value()));
  }
  return place;
}

}  // namespace

absl::StatusOr<std::vector<SelfTestPlace>> SelfTestPlaces(const std::string& devices,
                                                          const v1::ProbeReport& host,
                                                          const host::HasVariable& has_variable) {
  if (devices == "cpu") return std::vector<SelfTestPlace>{{"cpu:0", {}}, {"cpu:1", {}}};
  const absl::StatusOr<SlotRequest> request = ParseSlotRequest(devices);
  if (!request.ok() || request->indices.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--devices: '", devices, "' is neither cpu nor two devices of a kind, as cuda:0,1"));
  }
  std::vector<SelfTestPlace> places;
  for (const uint32_t index : request->indices) {
    const std::string slot = absl::StrCat(request->kind, ":", index);
    auto place = PlaceOf(request->kind, slot, host, has_variable);
    if (!place.ok()) return place.status();
    places.push_back(*std::move(place));
  }
  return places;
}

}  // namespace tandem::trainer
