#pragma once

#include <cstdint>
#include <functional>

#include "common/atomic_file.h"
#include "common/progress_page.h"
#include "worker/trainer/forward_seed.h"

namespace tandem::trainer {

// Where tests reach into a rank.
struct Hooks {
  ForwardSeed forward_seed = SeedByLogicalRank;
  // Called after the progress page was set.
  std::function<void(ProgressPage::Position)> on_position = [](ProgressPage::Position) {};
  // What checkpoints are written with.
  FileCalls* files = &FileCalls::System();
};

}  // namespace tandem::trainer
