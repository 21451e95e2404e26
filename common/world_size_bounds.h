#pragma once

#include <cstdint>

#include "tandem/v1/job.pb.h"

namespace tandem {

// The fewest and the most ranks that a job trains with.
struct WorldSizeBounds {
  uint32_t min, max;
};

// As its author said. Without a minimum it takes all or nothing.
inline WorldSizeBounds BoundsOf(const v1::JobSpec& spec) {
  return {spec.has_min_workers() ? spec.min_workers() : spec.workers(), spec.workers()};
}

// As it was last resized.
inline WorldSizeBounds BoundsOf(const v1::Job& job) {
  if (job.resized_max() == 0) return BoundsOf(job.spec());
  return {job.resized_min(), job.resized_max()};
}

}  // namespace tandem
