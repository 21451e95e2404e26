#include "common/host/device_environment.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/device_slot.h"
#include "common/slot_request.h"

namespace tandem::host {
namespace {

// Looked at by programs whether or not this build has devices of that kind.
constexpr char kAlwaysHidden[] = "CUDA_VISIBLE_DEVICES";

using Variables = std::vector<v1::EnvironmentVariable>;

void Set(const std::string& name, const std::string& value, Variables* variables) {
  v1::EnvironmentVariable& variable = variables->emplace_back();
  variable.set_name(name);
  variable.set_value(value);
}

bool Has(const Variables& variables, const std::string& name) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const auto& one) { return one.name() == name; });
}

// The UUIDs of the devices of this kind among those of the slots.
std::string UuidsOf(const std::string& kind, const std::vector<std::string>& slots,
                    const v1::ProbeReport& host) {
  std::vector<std::string> uuids;
  for (const std::string& slot : slots) {
    const v1::DeviceFacts* device = DeviceOfSlot(slot, host.devices());
    if (device != nullptr && device->kind() == kind) uuids.push_back(device->uuid());
  }
  return absl::StrJoin(uuids, ",");
}

void SetForConnections(bool all_are_here, const HasVariable& has_variable, Variables* variables) {
  const auto set_unless_said = [&](const std::string& name, const std::string& value) {
    if (!Has(*variables, name) && !has_variable(name)) Set(name, value, variables);
  };
  if (all_are_here) set_unless_said("NCCL_SOCKET_IFNAME", "lo");
  set_unless_said("NCCL_DEBUG", "WARN");
}

}  // namespace

std::vector<v1::EnvironmentVariable> VisibilityEnvironment(const std::vector<std::string>& slots,
                                                           const v1::ProbeReport& host) {
  Variables variables;
  for (const v1::DeviceLibraryFacts& library : host.libraries()) {
    if (library.visibility_variable().empty()) continue;
    Set(library.visibility_variable(), UuidsOf(library.kind(), slots, host), &variables);
  }
  if (!Has(variables, kAlwaysHidden)) Set(kAlwaysHidden, "", &variables);
  return variables;
}

bool IsInOwnEnvironment(const std::string& name) { return std::getenv(name.c_str()) != nullptr; }

std::vector<v1::EnvironmentVariable> TrainerEnvironment(const std::string& slot,
                                                        const v1::ProbeReport& host,
                                                        bool all_are_here,
                                                        const HasVariable& has_variable) {
  Variables variables = VisibilityEnvironment({slot}, host);
  for (const v1::DeviceLibraryFacts& library : host.libraries()) {
    if (library.kind() != KindOfSlot(slot)) continue;
    for (const v1::EnvironmentVariable& variable : library.environment()) {
      Set(variable.name(), variable.value(), &variables);
    }
    if (!library.collectives().empty()) SetForConnections(all_are_here, has_variable, &variables);
  }
  return variables;
}

}  // namespace tandem::host
