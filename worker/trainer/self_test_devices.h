#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tandem/v1/host.pb.h"

namespace tandem::trainer {

// Where one rank of the self-test runs.
struct SelfTestPlace {
  // "cpu:0", "cuda:1".
  std::string slot;
  // "NAME=VALUE": lets a process see that device alone, and has what it needs for equal bits.
  std::vector<std::string> environment;
};

// "cpu", or a kind and the numbers of two devices: "cuda:0,1". `host`: what there is; not looked at for the CPU.
//   InvalidArgument     it is neither.
//   FailedPrecondition  there is no such device: says why its kind offers none.
absl::StatusOr<std::vector<SelfTestPlace>> SelfTestPlaces(const std::string& devices,
                                                          const v1::ProbeReport& host);

}  // namespace tandem::trainer
