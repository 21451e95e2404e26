#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tandem/v1/spec.pb.h"

// YAML into JobSpec, by field name. Only the client reads files, so this is a library of its own.
namespace tandem::spec {

// More is no job specification; refused before it is parsed.
constexpr size_t kMaxSpecBytes = size_t{1} << 20;

// A specification that was read, and where each of its keys was written.
struct SpecSource {
  v1::JobSpec spec;
  std::string file_name;
  // "optimizer.adamw.lr" -> "digits.yaml:12:5".
  std::map<std::string, std::string> places;
};

// Reads what is written and checks it key by key; what is missing is for Check to find.
//   InvalidArgument  "FILE:LINE:COLUMN: key: what", one line.
absl::StatusOr<SpecSource> ParseYaml(absl::string_view text, const std::string& file_name);

// Replaces one key: "optimizer.adamw.lr=0.01", the value in YAML. Giving one key of a group, or
// another kind of data, model or optimizer, takes the place of the one that was there.
//   InvalidArgument  as for ParseYaml, with "command line" as the place.
absl::Status ApplySetting(absl::string_view assignment, SpecSource* source);

// Validate, with the place of the key, or of the nearest one above it, in front.
absl::Status Check(const SpecSource& source);

// ParseYaml and Check in one.
absl::StatusOr<v1::JobSpec> ReadYaml(absl::string_view text, const std::string& file_name);

}  // namespace tandem::spec
