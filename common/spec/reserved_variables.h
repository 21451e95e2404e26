#pragma once

#include "absl/strings/string_view.h"

namespace tandem::spec {

// Whether Tandem sets this variable of a `command` itself: what torchrun sets, and its own.
bool IsReservedVariable(absl::string_view name);

}  // namespace tandem::spec
