#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace tandem::core {

// When it is worth to wait, and for how long.
struct SchedulerPolicy {
  // An elastic job that could start with fewer workers than it wants waits so long for more.
  absl::Duration patience = absl::Seconds(2);
  // A job that has waited for longer is passed by no more: what becomes free is kept for it.
  absl::Duration starvation_limit = absl::Minutes(1);
  // An attempt trains at least so long before it is paused to grow.
  absl::Duration settle = absl::Seconds(10);
};

struct Options {
  // How often an agent reports where its ranks are; told to it when it registers.
  absl::Duration heartbeat_interval = absl::Milliseconds(250);
  // A worker that is silent for this long is lost.
  absl::Duration worker_lease = absl::Seconds(10);
  // From the start of an attempt until every rank has loaded its model and data.
  absl::Duration prepare_timeout = absl::Minutes(5);
  // How long a job that is being stopped waits for its ranks to be gone.
  absl::Duration abort_timeout = absl::Seconds(10);
  // How long an attempt that is to pause may take to finish its step and save.
  absl::Duration pause_timeout = absl::Minutes(2);
  // Ended jobs that are kept; of more, the oldest go.
  uint32_t kept_jobs = 1000;
  SchedulerPolicy scheduler = {};
};

}  // namespace tandem::core
