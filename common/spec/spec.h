#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::spec {

// The first rule that a specification breaks.
struct Violation {
  // As it would be written in YAML: "optimizer.adamw.lr", "model.mlp.hidden[1]".
  std::string key;
  // The line for people, which begins with the key.
  std::string message;
};

// Checks the rules on the fields of spec.proto and those between fields, with or without defaults
// filled in. Thread-safe, as is everything here.
std::optional<Violation> FindViolation(const v1::JobSpec& spec);

// The same as a status:
//   InvalidArgument  one line that names the key.
absl::Status Validate(const v1::JobSpec& spec);

// Gives every key that was left out its default, except inside messages that were left out.
// Afterwards the specification means the same to every version of Tandem. Idempotent.
void FillDefaults(v1::JobSpec* spec);

}  // namespace tandem::spec
