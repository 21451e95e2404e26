// libtandem-cuda.so: devices of NVIDIA. It is loaded into a program that has LibTorch, and brings
// LibTorch's part for them along.
#include "common/version.h"
#include "worker/device/cuda/cuda_device.h"
#include "worker/device/cuda/cuda_status.h"
#include "worker/device/cuda/determinism.h"
#include "worker/device/cuda/probe.h"
#include "worker/device/device_library.h"

namespace tandem::device {
namespace {

class CudaLibrary : public DeviceLibrary {
 public:
  std::string runtime_version() const override { return RuntimeVersion(); }
  std::string driver_version() const override { return DriverVersion(); }
  std::string collectives() const override { return kCollectives; }
  std::string visibility_variable() const override { return "CUDA_VISIBLE_DEVICES"; }
  std::vector<std::pair<std::string, std::string>> environment() const override {
    return DeterministicEnvironment();
  }
  absl::StatusOr<std::vector<DeviceFacts>> Probe() override { return ProbeDevices(); }
  absl::StatusOr<std::unique_ptr<Device>> Open(uint32_t index) override {
    return OpenCudaDevice(index);
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) DeviceLibraryEntry TandemDeviceLibrary() {
  static CudaLibrary library;
  return {kVersion, &library};
}

}  // namespace tandem::device
