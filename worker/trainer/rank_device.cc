#include "worker/trainer/rank_device.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/slot_request.h"
#include "worker/trainer/versions.h"

namespace tandem::trainer {
namespace {

absl::Status Under(const std::string& slot, const absl::Status& status) {
  return {status.code(), absl::StrCat("slot ", slot, ": ", status.message())};
}

}  // namespace

absl::StatusOr<RankDevice> RankDevice::Open(const std::string& slot) {
  RankDevice opened;
  opened.kind_ = std::string(KindOfSlot(slot));
  if (opened.kind_ == kCpuKind) return opened;
  const auto library = device::LoadDeviceLibrary(opened.kind_);
  if (!library.ok()) return Under(slot, library.status());
  opened.library_ = *library;
  auto device = opened.library_->Open(0);
  if (!device.ok()) return Under(slot, device.status());
  opened.device_ = *std::move(device);
  return opened;
}

c10::Device RankDevice::for_torch() const {
  return device_ == nullptr ? c10::Device(c10::kCPU) : c10::Device(device_->torch_name());
}

std::string RankDevice::Fingerprint() const {
  return device_ == nullptr ? KindOfCpu() : device_->Fingerprint();
}

std::string RankDevice::Libraries() const {
  if (library_ == nullptr) return "";
  const std::string driver = library_->driver_version();
  return absl::StrCat(kind_, " ", library_->runtime_version(), driver.empty() ? "" : ", driver ",
                      driver);
}

std::vector<std::string> RankDevice::Environment() const {
  if (library_ == nullptr) return {};
  std::vector<std::string> names = {library_->visibility_variable()};
  for (const auto& variable : library_->environment()) names.push_back(variable.first);
  std::vector<std::string> set;
  for (const std::string& name : names) {
    if (const char* value = std::getenv(name.c_str())) {
      set.push_back(absl::StrCat(name, "=", value));
    }
  }
  return set;
}

}  // namespace tandem::trainer
