#include "worker/trainer/probe.h"

#include <google/protobuf/util/json_util.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "worker/device/device_library.h"
#include "worker/nccl/nccl_library.h"
#include "worker/trainer/versions.h"

namespace tandem::trainer {
namespace {

void AddDevice(const std::string& kind, const device::DeviceFacts& facts, v1::ProbeReport& report) {
  v1::DeviceFacts& added = *report.add_devices();
  added.set_kind(kind);
  added.set_index(facts.index);
  added.set_model(facts.model);
  added.set_uuid(facts.uuid);
  added.set_bus_id(facts.bus_id);
  added.set_compute_capability(facts.compute_capability);
  added.set_total_bytes(facts.total_bytes);
  added.set_free_bytes(facts.free_bytes);
  added.mutable_peers()->Add(facts.peers.begin(), facts.peers.end());
}

void DescribeCollectives(const std::string& name, v1::DeviceLibraryFacts& facts) {
  const auto library = nccl::NcclLibrary::Load(name);
  if (library.ok()) {
    facts.set_collectives((*library)->Version());
  } else {
    facts.set_collectives_problem(std::string(library.status().message()));
  }
}

void Describe(const device::DeviceLibrary& library, v1::DeviceLibraryFacts& facts) {
  facts.set_runtime_version(library.runtime_version());
  facts.set_driver_version(library.driver_version());
  facts.set_visibility_variable(library.visibility_variable());
  for (const auto& [name, value] : library.environment()) {
    v1::EnvironmentVariable& variable = *facts.add_environment();
    variable.set_name(name);
    variable.set_value(value);
  }
  DescribeCollectives(library.collectives(), facts);
}

absl::Status ProbeKind(const std::string& kind, v1::DeviceLibraryFacts& facts,
                       v1::ProbeReport& report) {
  const absl::StatusOr<device::DeviceLibrary*> library = device::LoadDeviceLibrary(kind);
  if (!library.ok()) return library.status();
  const absl::StatusOr<std::vector<device::DeviceFacts>> devices = (*library)->Probe();
  Describe(**library, facts);
  if (!devices.ok()) return devices.status();
  for (const device::DeviceFacts& found : *devices) AddDevice(kind, found, report);
  return absl::OkStatus();
}

}  // namespace

v1::ProbeReport ProbeHost() {
  v1::ProbeReport report;
  report.set_build(absl::StrCat("tandem-trainer ", kVersion, " (", LibraryVersions(), ")"));
  for (const std::string& kind : device::DeviceKinds()) {
    v1::DeviceLibraryFacts& facts = *report.add_libraries();
    facts.set_kind(kind);
    const absl::Status status = ProbeKind(kind, facts, report);
    facts.set_problem(std::string(status.message()));
  }
  return report;
}

int PrintProbeReport() {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(ProbeHost(), &json, options);
  if (!status.ok()) {  // only a driver's text that is no UTF-8
    std::cerr << "tandem-trainer: " << status.ToString() << std::endl;
    return 1;
  }
  std::cout << json << std::flush;
  return 0;
}

}  // namespace tandem::trainer
