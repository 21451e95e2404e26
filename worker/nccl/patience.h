#pragma once

#include <algorithm>
#include <thread>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace tandem::nccl {

// The pauses between two looks at something that happens elsewhere, often soon: none at first, then
// growing ones, so that little is lost of a short wait, and of the processor in a long one.
class Patience {
 public:
  explicit Patience(absl::Duration timeout) : deadline_(absl::Now() + timeout) {}

  // False once the time is over.
  bool Pause() {
    if (++looks_ <= kWithoutSleep) {
      std::this_thread::yield();
    } else {
      absl::SleepFor(std::min(kLongest, absl::Microseconds(10) * (looks_ - kWithoutSleep)));
    }
    return absl::Now() < deadline_;
  }

 private:
  static constexpr int kWithoutSleep = 100;
  static constexpr absl::Duration kLongest = absl::Milliseconds(1);

  const absl::Time deadline_;
  int looks_ = 0;
};

}  // namespace tandem::nccl
