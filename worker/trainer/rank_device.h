#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "c10/core/Device.h"
#include "worker/device/device.h"
#include "worker/device/device_library.h"

namespace tandem::trainer {

// What a rank trains on: the CPU, or a device of a kind that a library brings. Thread-safe.
class RankDevice {
 public:
  // `slot`: "cpu:0", or "KIND:N". The agent lets this process see that device alone, so that it is
  // the first here, whatever its number is. Once per process, before anything else touches a device.
  //   errors as device::LoadDeviceLibrary and DeviceLibrary::Open, naming the slot.
  static absl::StatusOr<RankDevice> Open(const std::string& slot);

  // Null: the CPU.
  device::Device* get() const { return device_.get(); }
  c10::Device for_torch() const;

  // All that bits depend on; of the CPU its kind.
  std::string Fingerprint() const;
  // "cuda 13.0, driver 13.0"; of the CPU empty.
  std::string Libraries() const;
  // Of the environment of this process: what has to do with the device, as "NAME=VALUE".
  std::vector<std::string> Environment() const;

 private:
  RankDevice() = default;

  std::string kind_;
  device::DeviceLibrary* library_ = nullptr;  // none: the CPU
  std::unique_ptr<device::Device> device_;
};

}  // namespace tandem::trainer
