#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::spec {

// Reads a specification file ("-": standard input), applies the settings of the command line in
// order (ApplySetting), and checks the result. Relative paths are made absolute: those in the file
// from the file's folder, those in settings from the working directory. Defaults are not filled in.
//   InvalidArgument  one line that begins with the place of the mistake.
//   NotFound         no such file, or it cannot be read.
absl::StatusOr<v1::JobSpec> LoadSpec(const std::string& path,
                                     const std::vector<std::string>& settings);

// The same for a specification that comes from no file: what it says itself is taken as it is.
//   InvalidArgument  one line that begins with the key, or with "command line".
absl::StatusOr<v1::JobSpec> CompleteSpec(v1::JobSpec spec,
                                         const std::vector<std::string>& settings);

}  // namespace tandem::spec
