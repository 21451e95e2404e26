#include "common/device_slot.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(DeviceOfSlot, SlotWithoutADevice_HasNone) {
  google::protobuf::RepeatedPtrField<v1::DeviceFacts> devices;
  for (const uint32_t index : {0, 1}) {
    v1::DeviceFacts& device = *devices.Add();
    device.set_kind("cuda");
    device.set_index(index);
    device.set_uuid("uuid-of-" + SlotOf(device));
  }
  EXPECT_EQ(DeviceOfSlot("cuda:1", devices)->uuid(), "uuid-of-cuda:1");
  EXPECT_EQ(DeviceOfSlot("cuda:2", devices), nullptr);
  EXPECT_EQ(DeviceOfSlot("cpu:0", devices), nullptr);
}

}  // namespace
}  // namespace tandem
