#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "worker/device/device.h"

namespace tandem {

struct ExchangesSeen {
  std::string library;     // "NCCL 2.28.9"
  uint64_t exchanges = 0;  // that were made, each with the bytes that it should leave
};

// A communicator of one rank on this device, and every exchange in it, in main memory and in the
// device's.
//   Internal  an exchange left other bytes than it should: names it.
//   others    as nccl::NcclLibrary and nccl::ConnectNccl.
absl::StatusOr<ExchangesSeen> CheckExchanges(device::Device& device);

}  // namespace tandem
