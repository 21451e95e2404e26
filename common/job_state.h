#pragma once

#include "tandem/v1/job.pb.h"

namespace tandem {

// The state is final: no process of the job is left, and nothing about it changes any more.
inline bool HasEnded(v1::JobState state) {
  return state == v1::JOB_STATE_SUCCEEDED || state == v1::JOB_STATE_FAILED ||
         state == v1::JOB_STATE_CANCELLED;
}

}  // namespace tandem
