#pragma once

#include <string>

#include "tandem/v1/spec.pb.h"

namespace tandem::spec {

// What ReadYaml reads back as an equal specification: every key that is set, in the order of
// spec.proto.
std::string WriteYaml(const v1::JobSpec& spec);

}  // namespace tandem::spec
