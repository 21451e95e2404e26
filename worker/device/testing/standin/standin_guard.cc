// What LibTorch asks of every kind of device: which is the current one, and its random numbers.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "worker/device/testing/standin/standin_devices.h"

namespace tandem::device::standin {
namespace {

constexpr c10::DeviceType kType = c10::kPrivateUse1;

// Kernels are done when they return, so that there is one stream, and nothing to wait for in it.
struct StandinGuard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {kType, CurrentDevice()}; }
  void setDevice(c10::Device device) const override { SetCurrentDevice(device.index()); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { setDevice(device); }
  c10::Stream getStream(c10::Device device) const override { return StreamOf(device); }
  c10::Stream getDefaultStream(c10::Device device) const override { return StreamOf(device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }
  void record(void**, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}

 private:
  static c10::Stream StreamOf(c10::Device device) {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, StandinGuard);

class StandinHooks final : public at::PrivateUse1HooksInterface {
 public:
  StandinHooks() {
    for (c10::DeviceIndex i = 0; i < kDevices; ++i) generators_.push_back(getNewGenerator(i));
  }

  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return kDevices; }
  c10::DeviceIndex getCurrentDevice() const override { return CurrentDevice(); }
  void setCurrentDevice(c10::DeviceIndex index) const override { SetCurrentDevice(index); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    return StandinGuard().exchangeDevice({kType, index}).index();
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return exchangeDevice(index);
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override {
    return generators_.at(static_cast<size_t>(index < 0 ? CurrentDevice() : index));
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return at::make_generator<at::CPUGeneratorImpl>();
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    c10::DataPtr memory = c10::GetAllocator(kType)->allocate(bytes);
    const size_t kept = std::min(bytes, storage.nbytes());
    if (kept > 0) c10::GetAllocator(kType)->copy_data(memory.get(), storage.data(), kept);
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(memory));
    storage.unsafeGetStorageImpl()->set_nbytes(bytes);
  }

 private:
  std::vector<at::Generator> generators_;
};

const bool registered = [] {
  c10::register_privateuse1_backend("standin");
  at::RegisterPrivateUse1HooksInterface(new StandinHooks);
  return true;
}();

}  // namespace
}  // namespace tandem::device::standin
