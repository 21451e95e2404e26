// tandem-device-check: what the tests of sums and exchanges look at, on a real device. Prints what it
// saw as JSON, and ends with 1 where that is not what it should be.
//
//   tandem-device-check KIND [--sums-only]       KIND: cuda; or cpu, for the host in place of a device
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "tests/gpu/exchange_check.h"
#include "tests/gpu/sums_check.h"
#include "worker/device/device_library.h"
#include "worker/device/testing/host_device.h"

namespace tandem {
namespace {

absl::StatusOr<std::unique_ptr<device::Device>> Open(const std::string& kind) {
  if (kind == "cpu") {
    return std::make_unique<device::HostDevice>(
        device::HostDevice::Options{.collectives = STAND_IN_NCCL});
  }
  const auto library = device::LoadDeviceLibrary(kind);
  if (!library.ok()) return library.status();
  return (*library)->Open(0);
}

absl::Status Check(const std::string& kind, bool sums_only, nlohmann::json* report) {
  const auto device = Open(kind);
  if (!device.ok()) return device.status();
  (*report)["device"] = (*device)->Fingerprint();
  const auto sums = CheckSums(**device);
  if (!sums.ok()) return sums.status();
  (*report)["sums"] = {
      {"sums", sums->sums}, {"values", sums->values}, {"different", sums->different}};
  if (sums->different > 0)
    return absl::InternalError("sums on the device differ from those of the CPU");
  if (sums_only) return absl::OkStatus();
  const auto exchanges = CheckExchanges(**device);
  if (!exchanges.ok()) return exchanges.status();
  (*report)["exchanges"] = {{"library", exchanges->library}, {"exchanges", exchanges->exchanges}};
  return absl::OkStatus();
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  const std::string last = argv[argc - 1];
  if (argc < 2 || argc > 3 || (argc == 3 && last != "--sums-only")) {
    std::cerr << "usage: tandem-device-check KIND [--sums-only]" << std::endl;
    return 2;
  }
  nlohmann::json report;
  const absl::Status status = tandem::Check(argv[1], argc == 3, &report);
  std::cout << report.dump() << std::endl;
  if (status.ok()) return 0;
  std::cerr << "tandem-device-check: " << status.message() << std::endl;
  return 1;
}
