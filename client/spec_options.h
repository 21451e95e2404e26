#pragma once

#include <optional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "client/console.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::client {

// The specification that a command is given, and what its command line changes about it.
struct SpecOptions {
  std::string file;
  // As typed: they are read by the rules of the specification.
  std::optional<std::string> workers;
  std::optional<std::string> seed;
  std::optional<std::string> priority;
  std::vector<std::string> settings;

  void AddTo(CLI::App* command);
  // For a command that tries several numbers of workers.
  void AddWithoutWorkersTo(CLI::App* command);
  // --set alone, for a command without a specification.
  void AddSettingsTo(CLI::App* command);
  // Errors as for spec::LoadSpec.
  absl::StatusOr<v1::JobSpec> Load() const;
  // The same for a specification that comes from no file.
  absl::StatusOr<v1::JobSpec> Complete(v1::JobSpec spec) const;

 private:
  std::vector<std::string> AllSettings() const;
};

// Tells the author of a specification without logical_ranks that its result depends on the workers.
// What that of a program depends on is for the program to say.
void NoteDerivedRanks(const v1::JobSpec& spec, Console* console);

}  // namespace tandem::client
