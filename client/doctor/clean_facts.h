#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/proto_time.h"
#include "common/version.h"
#include "gmock/gmock.h"
#include "tandem/v1/doctor.pb.h"

// For tests: facts without fault, to be spoiled one at a time, and what is then looked for.
namespace tandem::client::doctor {

inline absl::Time SomeTime() {
  return absl::FromCivil(absl::CivilSecond(2026, 11, 30, 12), absl::UTCTimeZone());
}

inline v1::HostFacts CleanHost() {
  v1::HostFacts facts;
  facts.set_host("gpu-3");
  facts.set_version(kVersion);
  facts.set_kernel("Linux 6.8.0");
  facts.set_cpu_model("A processor");
  facts.set_cores(64);
  *facts.mutable_wall_clock() = ToProto(SomeTime());
  facts.mutable_probe()->set_build(absl::StrCat("tandem-trainer ", kVersion, " (LibTorch 2.11.0)"));
  facts.mutable_shared_memory()->set_path("/dev/shm");
  facts.mutable_shared_memory()->set_total_bytes(uint64_t{64} << 30);
  facts.mutable_shared_memory()->set_free_bytes(uint64_t{63} << 30);
  facts.mutable_temporary()->set_path("/tmp");
  facts.mutable_temporary()->set_total_bytes(uint64_t{100} << 30);
  facts.mutable_temporary()->set_free_bytes(uint64_t{50} << 30);
  facts.mutable_limits()->set_open_files(65536);
  facts.mutable_network()->add_addresses("10.0.0.3");
  facts.mutable_network()->set_advertise_address("10.0.0.3");
  return facts;
}

// With devices cuda:0 and so on, each of which reaches every other.
inline v1::HostFacts CleanGpuHost(int devices = 2) {
  v1::HostFacts facts = CleanHost();
  v1::DeviceLibraryFacts& library = *facts.mutable_probe()->add_libraries();
  library.set_kind("cuda");
  library.set_runtime_version("13.0");
  library.set_driver_version("13.0");
  library.set_collectives("NCCL 2.28.9");
  for (int i = 0; i < devices; ++i) {
    v1::DeviceFacts& device = *facts.mutable_probe()->add_devices();
    device.set_kind("cuda");
    device.set_index(static_cast<uint32_t>(i));
    device.set_model("NVIDIA H200");
    device.set_uuid(absl::StrCat("GPU-", i));
    device.set_compute_capability("9.0");
    device.set_total_bytes(uint64_t{140} << 30);
    device.set_free_bytes(uint64_t{139} << 30);
    for (int peer = 0; peer < devices; ++peer) {
      if (peer != i) device.add_peers(static_cast<uint32_t>(peer));
    }
    v1::BusDevice& card = *facts.add_accelerators();
    card.set_bus_id(absl::StrCat("0000:0", i, ":00.0"));
    card.set_vendor("NVIDIA");
  }
  return facts;
}

// Those that ask for something to be done or thought of, as "SEVERITY aspect: found -> remedy".
inline std::vector<std::string> Complaints(const std::vector<v1::HostFinding>& findings) {
  std::vector<std::string> complaints;
  for (const v1::HostFinding& finding : findings) {
    if (finding.severity() == v1::SEVERITY_OK) continue;
    complaints.push_back(absl::StrCat(v1::Severity_Name(finding.severity()).substr(9), " ",
                                      finding.aspect(), ": ", finding.found(), " -> ",
                                      finding.remedy()));
  }
  return complaints;
}

// One complaint, which begins with `head` and has all of `parts`.
template <typename... Parts>
auto OneComplaint(const std::string& head, Parts... parts) {
  return ::testing::ElementsAre(
      ::testing::AllOf(::testing::StartsWith(head), ::testing::HasSubstr(parts)...));
}

}  // namespace tandem::client::doctor
