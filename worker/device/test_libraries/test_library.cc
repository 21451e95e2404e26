// A library of devices for device_library_test: it has none, and the version that it is compiled with.
#include "common/version.h"
#include "worker/device/device_library.h"

namespace tandem::device {
namespace {

class TestLibrary : public DeviceLibrary {
 public:
  std::string runtime_version() const override { return "1.0"; }
  std::string driver_version() const override { return ""; }
  std::string collectives() const override { return "libtest.so"; }
  std::string visibility_variable() const override { return "TEST_VISIBLE_DEVICES"; }
  std::vector<std::pair<std::string, std::string>> environment() const override { return {}; }
  absl::StatusOr<std::vector<DeviceFacts>> Probe() override { return std::vector<DeviceFacts>(); }
  absl::StatusOr<std::unique_ptr<Device>> Open(uint32_t) override {
    return absl::FailedPreconditionError("there is none");
  }
};

}  // namespace

extern "C" DeviceLibraryEntry TandemDeviceLibrary() {
  static TestLibrary library;
  return {TEST_LIBRARY_VERSION, &library};
}

}  // namespace tandem::device
