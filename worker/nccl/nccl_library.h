#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/nccl/nccl_api.h"

namespace tandem::nccl {

// NCCL, or a library with its interface (RCCL), loaded when it is needed: a program that links it
// would need a toolkit to start. Thread-safe.
class NcclLibrary {
 public:
  // `name`: for dlopen. Stays loaded for good.
  //   FailedPrecondition  it is not there, lacks a function, or is older than what ranks need: names
  //                       it; or NCCL_COMM_ID is set, by which jobs mix.
  static absl::StatusOr<std::unique_ptr<NcclLibrary>> Load(const std::string& name);

  // "NCCL 2.28.9".
  std::string Version() const;

  // What the ranks of an attempt find each other by. A thread listens for them in this process from
  // now on, until it exits. Needs no device.
  //   Unavailable  there is no network interface that it can listen on: in NCCL's words.
  absl::StatusOr<std::string> MintUniqueId() const;

  const NcclApi& api() const { return api_; }

 private:
  explicit NcclLibrary(const NcclApi& api) : api_(api) {}

  const NcclApi api_;
};

}  // namespace tandem::nccl
