#pragma once

#include <map>
#include <string>

#include "server/core/scheduler.h"

namespace tandem::core {

// A cluster seen as one for each kind of device: its slots, what runs on them, and who waits for them. Kinds have nothing
// to do with each other, since an attempt is on one of them: bits of another would not be the same.
//
// A job that has no kind yet gets one here: that of which the workers have most, "cpu" only where they have no other. Those
// count that are drained or may come back, so that a worker's absence does not send a job to another kind for good. Neither
// how many slots are free nor how many it wants counts, lest the same job end up on another kind on another day, or at
// another size.
std::map<std::string, SchedulerState> ByKind(SchedulerState state);

}  // namespace tandem::core
