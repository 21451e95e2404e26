#include "common/device_slot.h"

#include "absl/strings/str_cat.h"

namespace tandem {

std::string SlotOf(const v1::DeviceFacts& device) {
  return absl::StrCat(device.kind(), ":", device.index());
}

const v1::DeviceFacts* DeviceOfSlot(
    absl::string_view slot, const google::protobuf::RepeatedPtrField<v1::DeviceFacts>& devices) {
  for (const v1::DeviceFacts& device : devices) {
    if (SlotOf(device) == slot) return &device;
  }
  return nullptr;
}

}  // namespace tandem
