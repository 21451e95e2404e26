#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "worker/device/device.h"
#include "worker/device/tree_sum_kernel.h"

namespace tandem::device {

// The order of additions, worked out for the threads of a device.
struct TreePlan {
  std::vector<TreeTerm> terms;
  std::vector<TreeRun> runs;  // rising; elements that no block has are in none
};

// The order is that of ddp::TreeAccumulator, which is asked for it. Neighbouring segments that the
// same blocks have become one run.
//   Internal  the blocks are not all of one node.
absl::StatusOr<TreePlan> PlanTreeSum(const TreeSum& sum);

}  // namespace tandem::device
