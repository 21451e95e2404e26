#pragma once

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/spec/spec.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::spec {

// A rule that the options on one field cannot express.
struct CrossRule {
  // For docs/spec.md.
  absl::string_view text;
  // Expects a specification with all defaults filled in.
  std::optional<Violation> (*check)(const v1::JobSpec& spec);
};

const std::vector<CrossRule>& CrossRules();

// The default that depends on another key.
uint32_t DefaultLogicalRanks(uint32_t workers);

}  // namespace tandem::spec
