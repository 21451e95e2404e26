#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/host/device_environment.h"
#include "tandem/v1/host.pb.h"

namespace tandem::trainer {

// Where one rank of the self-test runs.
struct SelfTestPlace {
  // "cpu:0", "cuda:1".
  std::string slot;
  // "NAME=VALUE": that of a rank that trains there.
  std::vector<std::string> environment;
};

// "cpu", or a kind and the numbers of two devices: "cuda:0,1". `host`: what there is; not looked at for
// the CPU. `has_variable`: of this process.
//   InvalidArgument     it is neither.
//   FailedPrecondition  there is no such device: says why its kind offers none.
absl::StatusOr<std::vector<SelfTestPlace>> SelfTestPlaces(const std::string& devices,
                                                          const v1::ProbeReport& host,
                                                          const host::HasVariable& has_variable);

}  // namespace tandem::trainer
