#pragma once

#include <cstdint>

#include "common/progress_page.h"
#include "worker/trainer/hooks.h"

namespace tandem::trainer {

// Says where this rank is, to the agent and to whoever has hooked in.
class PositionReporter {
 public:
  // Both outlive it.
  PositionReporter(ProgressPage& page, const Hooks& hooks) : page_(page), hooks_(hooks) {}

  // `step`: steps done.
  void Enter(uint64_t step, v1::Phase phase) {
    page_.Set({step, phase});
    hooks_.on_position({step, phase});
  }

 private:
  ProgressPage& page_;
  const Hooks& hooks_;
};

}  // namespace tandem::trainer
