#include "worker/device/testing/standin/standin_devices.h"

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tandem::device::standin {
namespace {

thread_local c10::DeviceIndex current = 0;

// Memory that the device owns, so that transports know it.
class StandinAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device(c10::kPrivateUse1, current);
    if (bytes == 0) return {nullptr, device};
    auto memory = DeviceAt(current).Allocate(bytes);
    TORCH_CHECK(memory.ok(), std::string(memory.status().message()));
    auto* const owned = new Owned{device, *std::move(memory)};
    return {owned->memory->data(), owned, &Free, device};
  }

  void copy_data(void* to, const void* from, size_t bytes) const override {
    AwaitComputeStream({c10::kPrivateUse1, current});
    default_copy_data(to, from, bytes);
  }

 private:
  struct Owned {
    c10::Device device;
    std::unique_ptr<Memory> memory;
  };

  static void Free(void* owned) {
    AwaitComputeStream(static_cast<Owned*>(owned)->device);
    delete static_cast<Owned*>(owned);
  }
};

StandinAllocator allocator;
REGISTER_ALLOCATOR(c10::kPrivateUse1, &allocator);

}  // namespace

HostDevice& DeviceAt(c10::DeviceIndex index) {
  // Never destroyed: LibTorch gives memory back until the very end.
  static const auto& devices = *[] {
    auto* all = new std::vector<std::unique_ptr<HostDevice>>;
    for (c10::DeviceIndex i = 0; i < kDevices; ++i) all->push_back(std::make_unique<HostDevice>());
    return all;
  }();
  return *devices.at(static_cast<size_t>(index));
}

c10::DeviceIndex CurrentDevice() { return current; }

void SetCurrentDevice(c10::DeviceIndex index) { current = index; }

void AwaitComputeStream(c10::Device device) {
  HostDevice& host = DeviceAt(device.index());
  const auto all_so_far = host.Record(host.ComputeStream());
  TORCH_CHECK(all_so_far.ok(), std::string(all_so_far.status().message()));
  while (!(*all_so_far)->Reached().value()) std::this_thread::yield();
}

}  // namespace tandem::device::standin
