#pragma once

#include <cstdint>

#include "common/ids.h"

namespace tandem::ddp {

// Who meets whom: one rank of one attempt of one job.
struct Membership {
  JobId job;
  AttemptNumber attempt;
  Rank rank;
  uint32_t world_size = 1;
};

}  // namespace tandem::ddp
