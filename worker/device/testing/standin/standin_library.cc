// FOR TESTS ONLY. libtandem-standin.so: devices that are main memory (standin_devices.h).
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/version.h"
#include "worker/device/device_library.h"
#include "worker/device/testing/standin/standin_devices.h"

namespace tandem::device {
namespace {

// Read by this library alone: another library in place of the stand-in for NCCL.
constexpr char kCollectivesVariable[] = "TANDEM_STANDIN_COLLECTIVES";
constexpr char kVisibleVariable[] = "STANDIN_VISIBLE_DEVICES";
constexpr std::pair<const char*, const char*> kNeeded = {"STANDIN_EQUAL_BITS", "1"};

std::string Collectives() {
  const char* other = std::getenv(kCollectivesVariable);
  return other == nullptr ? STANDIN_NCCL : other;
}

// Of memory that LibTorch and transports share.
class StandinDevice final : public Device {
 public:
  explicit StandinDevice(uint32_t index)
      : index_(static_cast<c10::DeviceIndex>(index)), memory_(standin::DeviceAt(index_)) {
    standin::SetCurrentDevice(index_);
  }

  std::string torch_name() const override { return absl::StrCat("standin:", int{index_}); }
  std::string Fingerprint() const override { return "Stand-in, main memory"; }
  std::string collectives() const override { return Collectives(); }
  bool Owns(const void* address) const override { return memory_.Owns(address); }
  absl::StatusOr<std::unique_ptr<Memory>> Allocate(size_t bytes) override {
    return memory_.Allocate(bytes);
  }
  absl::StatusOr<std::unique_ptr<Stream>> MakeStream() override { return memory_.MakeStream(); }
  Stream& ComputeStream() override { return memory_.ComputeStream(); }
  absl::StatusOr<std::unique_ptr<Event>> Record(Stream& stream) override {
    return memory_.Record(stream);
  }
  absl::Status WaitFor(Stream& stream, const Event& event) override {
    return memory_.WaitFor(stream, event);
  }
  absl::Status Copy(void* to, const void* from, size_t bytes, Stream& stream) override {
    return memory_.Copy(to, from, bytes, stream);
  }
  absl::Status AddInTree(const TreeSum& sum, Stream& stream) override {
    return memory_.AddInTree(sum, stream);
  }

 private:
  const c10::DeviceIndex index_;
  HostDevice& memory_;
};

class StandinLibrary final : public DeviceLibrary {
 public:
  std::string runtime_version() const override { return "1.0"; }
  std::string driver_version() const override { return "1.0"; }
  std::string collectives() const override { return Collectives(); }
  std::string visibility_variable() const override { return kVisibleVariable; }
  std::vector<std::pair<std::string, std::string>> environment() const override {
    return {{kNeeded.first, kNeeded.second}};
  }

  absl::StatusOr<std::vector<DeviceFacts>> Probe() override {
    std::vector<DeviceFacts> devices;
    for (uint32_t i = 0; i < standin::kDevices; ++i) {
      devices.push_back({.index = i,
                         .model = "Stand-in",
                         .uuid = UuidOf(i),
                         .bus_id = absl::StrCat("0000:00:0", i, ".0"),
                         .compute_capability = "1.0",
                         .total_bytes = kBytes,
                         .free_bytes = kBytes,
                         .peers = {i ^ 1u}});
    }
    return devices;
  }

  absl::StatusOr<std::unique_ptr<Device>> Open(uint32_t index) override {
    const char* value = std::getenv(kNeeded.first);
    if (value == nullptr || std::string(value) != kNeeded.second) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the environment needs ", kNeeded.first, "=", kNeeded.second, ", which the agent sets"));
    }
    const uint32_t visible = CountVisible();
    if (index < visible) return std::make_unique<StandinDevice>(index);
    return absl::FailedPreconditionError(
        absl::StrCat("there is no device ", index, ": this process sees ", visible, " of them"));
  }

 private:
  static constexpr uint64_t kBytes = uint64_t{1} << 30;

  static std::string UuidOf(uint32_t index) { return absl::StrCat("STANDIN-", index); }

  // Those that a process sees are counted from 0.
  static uint32_t CountVisible() {
    const char* uuids = std::getenv(kVisibleVariable);
    if (uuids == nullptr) return standin::kDevices;
    uint32_t visible = 0;
    for (const absl::string_view uuid : absl::StrSplit(uuids, ',')) {
      for (uint32_t i = 0; i < standin::kDevices; ++i) visible += uuid == UuidOf(i) ? 1 : 0;
    }
    return visible;
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) DeviceLibraryEntry TandemDeviceLibrary() {
  static StandinLibrary library;
  return {kVersion, &library};
}

}  // namespace tandem::device
