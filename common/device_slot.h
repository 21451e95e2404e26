#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "absl/strings/string_view.h"
#include "tandem/v1/host.pb.h"

namespace tandem {

// The slot that a device is: "cuda:1".
std::string SlotOf(const v1::DeviceFacts& device);

// Null: none of `devices` is that slot, as none is one of kind "cpu".
const v1::DeviceFacts* DeviceOfSlot(
    absl::string_view slot, const google::protobuf::RepeatedPtrField<v1::DeviceFacts>& devices);

}  // namespace tandem
