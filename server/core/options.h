#pragma once

#include "absl/time/time.h"

namespace tandem::core {

struct Options {
  // How often an agent reports where its ranks are; told to it when it registers.
  absl::Duration heartbeat_interval = absl::Milliseconds(250);
  // A worker that is silent for this long is lost.
  absl::Duration worker_lease = absl::Seconds(10);
  // From the start of an attempt until every rank has loaded its model and data.
  absl::Duration prepare_timeout = absl::Minutes(5);
  // How long a job that is being stopped waits for its ranks to be gone.
  absl::Duration abort_timeout = absl::Seconds(10);
};

}  // namespace tandem::core
