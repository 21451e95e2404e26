#include "common/clock.h"

#include <ctime>

#include "absl/time/clock.h"

namespace tandem {

Moment SystemClock::Now() const {
  timespec steady{};
  clock_gettime(CLOCK_MONOTONIC, &steady);
  return {absl::Now(), absl::DurationFromTimespec(steady)};
}

}  // namespace tandem
