#include "worker/device/cuda/probe.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <iostream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "worker/device/cuda/cuda_status.h"
#include "worker/device/cuda/management_library.h"

namespace tandem::device {
namespace {

std::vector<uint32_t> PeersOf(int device, int count) {
  std::vector<uint32_t> peers;
  for (int other = 0; other < count; ++other) {
    int reaches = 0;
    if (other == device || cudaDeviceCanAccessPeer(&reaches, device, other) != cudaSuccess)
      continue;
    if (reaches != 0) peers.push_back(static_cast<uint32_t>(other));
  }
  return peers;
}

absl::StatusOr<DeviceFacts> FactsOf(int index, int count) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, index);
  const std::string name = absl::StrCat("cuda:", index);
  if (absl::Status status = CudaStatus(error, name, "reading its properties"); !status.ok()) {
    return absl::FailedPreconditionError(status.message());
  }
  DeviceFacts facts;
  facts.index = static_cast<uint32_t>(index);
  facts.model = properties.name;
  facts.uuid = UuidOf(properties);
  facts.bus_id = absl::StrFormat("%04x:%02x:%02x.0", properties.pciDomainID, properties.pciBusID,
                                 properties.pciDeviceID);
  facts.compute_capability = CapabilityOf(properties);
  facts.total_bytes = properties.totalGlobalMem;
  facts.peers = PeersOf(index, count);
  return facts;
}

}  // namespace

absl::StatusOr<std::vector<DeviceFacts>> ProbeDevices() {
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", /*overwrite=*/0);
  if (absl::Status status = CheckDriver(); !status.ok()) return status;
  int count = 0;
  cudaGetDeviceCount(&count);
  const auto free_memory = FreeMemoryReader();
  return ThoseThatAnswer(count, [&](int index) {
    absl::StatusOr<DeviceFacts> facts = FactsOf(index, count);
    if (facts.ok()) facts->free_bytes = free_memory(facts->uuid);
    return facts;
  });
}

absl::StatusOr<std::vector<DeviceFacts>> ThoseThatAnswer(
    int count, const std::function<absl::StatusOr<DeviceFacts>(int index)>& facts_of) {
  std::vector<DeviceFacts> devices;
  absl::Status first_problem;
  for (int index = 0; index < count; ++index) {
    absl::StatusOr<DeviceFacts> facts = facts_of(index);
    if (facts.ok()) {
      devices.push_back(*std::move(facts));
      continue;
    }
    std::cerr << "tandem-trainer: left out: " << facts.status().message() << std::endl;
    first_problem.Update(facts.status());
  }
  if (devices.empty() && !first_problem.ok()) return first_problem;
  return devices;
}

std::string UuidOf(const cudaDeviceProp& device) {
  const std::string hex = absl::BytesToHexString({device.uuid.bytes, sizeof(device.uuid.bytes)});
  const absl::string_view digits = hex;
  return absl::StrCat("GPU-", digits.substr(0, 8), "-", digits.substr(8, 4), "-",
                      digits.substr(12, 4), "-", digits.substr(16, 4), "-", digits.substr(20));
}

std::string CapabilityOf(const cudaDeviceProp& device) {
  return absl::StrCat(device.major, ".", device.minor);
}

}  // namespace tandem::device
