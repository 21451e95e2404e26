#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/logical_ranks.h"
#include "worker/ddp/gradient_reducer.h"
#include "worker/ddp/leaf_fold.h"
#include "worker/ddp/leaf_tallies.h"
#include "worker/model/loss.h"
#include "worker/trainer/hooks.h"
#include "worker/trainer/mistakes.h"
#include "worker/trainer/position_reporter.h"
#include "worker/trainer/share_source.h"
#include "worker/trainer/tracer.h"
#include "worker/trainer/workload.h"

namespace tandem::trainer {

// What a pass over a batch works with; all outlive it.
struct PassParts {
  Workload& workload;
  ddp::GradientReducer& reducer;
  ddp::LeafTallies& tallies;
  ddp::LeafFold& fold;  // for statistics over the global batch
  ShareSource& shares;
  PositionReporter& position;
  const Mistakes& mistakes;
  const Hooks& hooks;
  Rank rank;
  const std::atomic<bool>& pause_wanted;  // this rank has been asked to pause
  Tracer* tracer = nullptr;               // none: nothing is written down
};

// Forward and backward of this rank's logical ranks, for one step after the other. Collective, one
// thread.
class BatchPass {
 public:
  virtual ~BatchPass() = default;

  // `step`: steps done; shares are taken in the order of steps. The losses are multiplied by
  // `loss_scale` before they are propagated back, not where they are reported. On return every
  // gradient has been given to the reducer and the tallies have been started.
  // Errors as ShareSource and LeafFold. Throws c10::Error.
  virtual absl::Status Run(uint64_t step, double loss_scale) = 0;
};

// One logical rank after the other.
std::unique_ptr<BatchPass> MakeSequentialPass(const PassParts& parts);

// All logical ranks together from one batch normalization to the next, with statistics over the global
// batch. The model can be cut (Model::segmented).
std::unique_ptr<BatchPass> MakeSynchronizedPass(const PassParts& parts);

}  // namespace tandem::trainer
