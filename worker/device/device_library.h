#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/device/device.h"

namespace tandem::device {

// One of the devices of this host; the fields are those of tandem.v1.DeviceFacts.
struct DeviceFacts {
  uint32_t index = 0;
  std::string model;
  std::string uuid;
  std::string bus_id;
  std::string compute_capability;
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;  // 0: not known
  std::vector<uint32_t> peers;
};

// What a shared library with devices of one kind offers: libtandem-KIND.so, beside the trainer. The
// trainer itself knows no kind but "cpu", and loads such a library only for a slot that wants it, so
// that jobs on the CPU never wait for a driver.
class DeviceLibrary {
 public:
  virtual ~DeviceLibrary() = default;

  virtual std::string runtime_version() const = 0;
  virtual std::string driver_version() const = 0;  // empty: there is none
  virtual std::string collectives() const = 0;     // as Device::collectives
  // What names the devices that a process shall see: "CUDA_VISIBLE_DEVICES".
  virtual std::string visibility_variable() const = 0;
  // What every process that uses such a device needs in its environment from its start, for equal
  // bits: names with values.
  virtual std::vector<std::pair<std::string, std::string>> environment() const = 0;

  // Without leaving anything on them. One that does not answer is left out, with a line on standard error.
  //   FailedPrecondition  there is none, none answers, or no driver: one line says which, and what to do.
  virtual absl::StatusOr<std::vector<DeviceFacts>> Probe() = 0;

  // Takes the device number `index` of those that this process sees. Once per process, before
  // anything else has touched a device: every switch that decides about bits is set here, and read
  // back.
  //   FailedPrecondition  as Probe, or a switch or a variable of environment() is not as it should
  //                       be: names it.
  virtual absl::StatusOr<std::unique_ptr<Device>> Open(uint32_t index) = 0;
};

// What the library exports, by this name: a pointer that stays its own. It carries the version of
// Tandem that it was built with, since this is no interface between versions.
struct DeviceLibraryEntry {
  const char* version;
  DeviceLibrary* library;
};
using DeviceLibraryFunction = DeviceLibraryEntry (*)();
inline constexpr char kDeviceLibraryFunction[] = "TandemDeviceLibrary";

// Loads the library of devices of `kind`, which lies beside this program, for good.
//   NotFound            there is none: this build does not have that kind.
//   FailedPrecondition  it cannot be loaded, or is of another version: says what is missing.
absl::StatusOr<DeviceLibrary*> LoadDeviceLibrary(const std::string& kind);

// The kinds for which a library lies beside this program, sorted.
std::vector<std::string> DeviceKinds();

}  // namespace tandem::device
