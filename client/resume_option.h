#pragma once

#include <string>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "client/context.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::client {

// `--resume-from`: what a job goes on from, instead of what its file says.
struct ResumeOption {
  std::string source;  // empty: not given

  void AddTo(CLI::App* command);
  // Errors as for LocateCheckpoint.
  absl::Status ApplyTo(v1::JobSpec* spec, const Context& context) const;
};

}  // namespace tandem::client
