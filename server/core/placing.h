#pragma once

#include <cstddef>
#include <vector>

#include "server/core/scheduler.h"

namespace tandem::core {

// Takes `wanted` free slots; none are returned where there are fewer. As few workers as possible, of those that would
// do the ones with the least to spare, so that the larger holes stay for larger jobs. Element r is the place of rank r;
// the ranks of one worker are contiguous. For a command only workers that allow it count; another job takes them only
// where a worker without commands would not hold as many.
std::vector<Placement> TakeSlots(std::vector<WorkerSlots>& workers, size_t wanted, bool is_command);

}  // namespace tandem::core
