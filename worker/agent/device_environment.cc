#include "worker/agent/device_environment.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/slot_request.h"

namespace tandem::agent {
namespace {

// Looked at by programs whether or not this build has devices of that kind.
constexpr char kAlwaysHidden[] = "CUDA_VISIBLE_DEVICES";

class Variables {
 public:
  void Set(absl::string_view name, absl::string_view value) {
    v1::EnvironmentVariable& variable = all_.emplace_back();
    variable.set_name(std::string(name));
    variable.set_value(std::string(value));
  }
  bool Has(absl::string_view name) const {
    return std::any_of(all_.begin(), all_.end(),
                       [&](const auto& one) { return one.name() == name; });
  }
  std::vector<v1::EnvironmentVariable> Take() { return std::move(all_); }

 private:
  std::vector<v1::EnvironmentVariable> all_;
};

std::string UuidOf(absl::string_view slot, const v1::ProbeReport& host) {
  for (const v1::DeviceFacts& device : host.devices()) {
    if (slot == absl::StrCat(device.kind(), ":", device.index())) return device.uuid();
  }
  return "";
}

// The UUIDs of the devices of this kind that the process shall see.
std::string Visible(const std::string& kind, const v1::Prepare& prepare,
                    const v1::ProbeReport& host) {
  if (KindOfSlot(prepare.slot()) != kind) return "";
  if (!prepare.spec().has_command()) return UuidOf(prepare.slot(), host);
  return absl::StrJoin(prepare.local_slots(), ",", [&](std::string* out, const std::string& slot) {
    absl::StrAppend(out, UuidOf(slot, host));
  });
}

// Of one library of devices, for a trainer on one of its own.
void SetForTrainer(const v1::DeviceLibraryFacts& library, bool all_are_here,
                   const HasVariable& has_variable, Variables* variables) {
  for (const v1::EnvironmentVariable& variable : library.environment()) {
    variables->Set(variable.name(), variable.value());
  }
  if (library.collectives().empty()) return;
  const auto set_unless_said = [&](const char* name, const char* value) {
    if (!variables->Has(name) && !has_variable(name)) variables->Set(name, value);
  };
  if (all_are_here) set_unless_said("NCCL_SOCKET_IFNAME", "lo");
  set_unless_said("NCCL_DEBUG", "WARN");
}

}  // namespace

std::vector<v1::EnvironmentVariable> DeviceEnvironment(const v1::Prepare& prepare,
                                                       const v1::ProbeReport& host,
                                                       const HasVariable& has_variable) {
  Variables variables;
  for (const v1::DeviceLibraryFacts& library : host.libraries()) {
    if (library.visibility_variable().empty()) continue;
    variables.Set(library.visibility_variable(), Visible(library.kind(), prepare, host));
  }
  if (!variables.Has(kAlwaysHidden)) variables.Set(kAlwaysHidden, "");
  for (const v1::DeviceLibraryFacts& library : host.libraries()) {
    if (library.kind() != KindOfSlot(prepare.slot()) || prepare.spec().has_command()) continue;
    SetForTrainer(library, prepare.group_world_size() <= 1, has_variable, &variables);
  }
  return variables.Take();
}

}  // namespace tandem::agent
