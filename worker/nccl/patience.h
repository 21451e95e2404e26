#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/time/time.h"

namespace tandem::nccl {

// The pauses between two looks at something that happens elsewhere, often soon: none at first, then
// growing ones, so that little is lost of a short wait, and of the processor in a long one.
class Patience {
 public:
  explicit Patience(absl::Duration timeout)
      : deadline_(Clock::now() + absl::ToChronoMicroseconds(timeout)) {}

  // False once the time is over.
  bool Pause() {
    if (++looks_ <= kWithoutSleep) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::min(kLongest, kStep * (looks_ - kWithoutSleep)));
    }
    return Clock::now() < deadline_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kWithoutSleep = 100;
  static constexpr std::chrono::microseconds kStep{10};
  static constexpr std::chrono::microseconds kLongest{1000};

  const Clock::time_point deadline_;
  int looks_ = 0;
};

}  // namespace tandem::nccl
