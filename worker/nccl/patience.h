#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tandem::nccl {

// Looks again and again at something that happens elsewhere, often soon. There are pauses between two
// looks: none at first, then growing ones, so that little is lost of a short wait, and of the processor
// in a long one.
class Patience {
 public:
  explicit Patience(absl::Duration timeout)
      : deadline_(Clock::now() + absl::ToChronoMicroseconds(timeout)) {}

  // Until `look`, which returns a bool or an absl::StatusOr of one, has seen it: true. Its error is
  // returned at once. False: not even the last look, which is after the deadline, has seen it. So
  // nobody is blamed if it happened while this process was kept from looking.
  template <typename Look>
  absl::StatusOr<bool> Until(const Look& look) {
    while (true) {
      const bool is_last = is_over_;
      const absl::StatusOr<bool> seen = look();
      if (!seen.ok() || *seen || is_last) return seen;
      Pause();
      is_over_ = Clock::now() >= deadline_;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kWithoutSleep = 100;
  static constexpr std::chrono::microseconds kStep{10};
  static constexpr std::chrono::microseconds kLongest{1000};

  void Pause() {
    if (++looks_ <= kWithoutSleep) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::min(kLongest, kStep * (looks_ - kWithoutSleep)));
    }
  }

  const Clock::time_point deadline_;
  bool is_over_ = false;
  int looks_ = 0;
};

}  // namespace tandem::nccl
