#pragma once

#include <cstdint>
#include <deque>

#include "absl/time/time.h"

namespace tandem::core {

// Steps per second over the last few seconds. Instants are readings of a steady clock and never
// fall.
class StepRate {
 public:
  static constexpr absl::Duration kWindow = absl::Seconds(5);

  // Training begins, at step 0.
  void Start(absl::Duration at) { marks_ = {{at, 0}}; }

  void Add(absl::Duration at, uint64_t steps) {
    marks_.push_back({at, marks_.empty() ? steps : marks_.back().total + steps});
  }

  double PerSecond(absl::Duration now) {
    while (marks_.size() > 1 && marks_.front().at < now - kWindow) marks_.pop_front();
    if (marks_.empty() || now <= marks_.front().at) return 0;
    return static_cast<double>(marks_.back().total - marks_.front().total) /
           absl::ToDoubleSeconds(now - marks_.front().at);
  }

 private:
  struct Mark {
    absl::Duration at;
    uint64_t total;
  };
  std::deque<Mark> marks_;
};

}  // namespace tandem::core
