#pragma once

#include "absl/random/random.h"
#include "absl/time/time.h"

namespace tandem {

// How long to wait before the next try. Not thread-safe.
class Backoff {
 public:
  struct Policy {
    absl::Duration first = absl::Milliseconds(100);
    absl::Duration longest = absl::Seconds(1);
    // Each delay is so many times the one before.
    double factor = 2;
    // Each delay is drawn evenly from [delay * (1 - jitter), delay]; 0 switches the randomness off.
    double jitter = 0.3;
  };

  explicit Backoff(Policy policy) : policy_(policy), next_(policy.first) {}

  // The delay before the next try; grows with each call.
  absl::Duration Next();
  // To be called after a success.
  void Reset() { next_ = policy_.first; }

 private:
  const Policy policy_;
  absl::Duration next_;
  absl::BitGen random_;
};

}  // namespace tandem
