#include "common/backoff.h"

#include <algorithm>

namespace tandem {

absl::Duration Backoff::Next() {
  const absl::Duration delay = std::min(next_, policy_.longest);
  next_ = delay * policy_.factor;
  return delay * absl::Uniform(absl::IntervalClosed, random_, 1 - policy_.jitter, 1.0);
}

}  // namespace tandem
