#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::client {

// The specification that a command is given, and what its command line changes about it.
struct SpecOptions {
  std::string file;
  std::optional<uint32_t> workers;
  std::optional<uint64_t> seed;
  std::vector<std::string> settings;

  void AddTo(CLI::App* command);
  // Errors as for spec::LoadSpec.
  absl::StatusOr<v1::JobSpec> Load() const;
};

}  // namespace tandem::client
