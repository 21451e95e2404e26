#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace at {
class Context;
}

namespace tandem::device {

// All that decides about the bits of a computation on an NVIDIA device, besides the device and the
// versions of libraries.

// Names with values, for the environment of a process from its start: libraries read them when they
// are loaded, or when they first see the device.
std::vector<std::pair<std::string, std::string>> DeterministicEnvironment();

// Those of them that decide about bits, or whether deadlines hold.
//   FailedPrecondition  one has another value: names it.
absl::Status CheckEnvironment();

struct Switch {
  const char* name;
  void (*set)(at::Context& context);
  bool (*is_set)(const at::Context& context);
};
// LibTorch's.
const std::vector<Switch>& Switches();

// Sets each, and reads it back.
//   FailedPrecondition  one did not take: names it.
absl::Status SetSwitches(const std::vector<Switch>& switches);

// What was set, for people and for a fingerprint: "deterministic algorithms, ...".
std::string DescribeDeterminism();

}  // namespace tandem::device
