#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/core/scheduler.h"

namespace tandem::core {

// What a waiting job is told, each in one sentence. A sentence stays the same while nothing changes, since each
// change is logged and shown.

// `all`: the slots of all workers; `usable`: those of them that it may have.
std::string CannotFit(const Demand& demand, uint32_t usable, uint32_t all);
std::string NeedsMore(const Demand& demand, uint32_t free, uint32_t all);
std::string CouldStart(const Demand& demand, uint32_t slots);
// `second` may not be started before `first`.
std::string WaitsFor(const Demand& first, const Demand& second);
// To the second, from ten seconds on to ten seconds.
std::string RestartsIn(absl::Duration time);
// At most three are named.
std::string FewNames(const std::vector<JobId>& jobs);

}  // namespace tandem::core
