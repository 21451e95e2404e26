#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "worker/device/tree_sum_kernel.h"

namespace tandem::device {

// A TreePlan in the device's memory.
struct TreeSumLaunch {
  const TreeRun* runs = nullptr;
  uint32_t count = 0;
  const TreeTerm* terms = nullptr;
  int64_t most_pieces = 0;  // of any run
  float* sum = nullptr;
  float scale = 1;
};

// As work of `stream`, on the device that is the thread's current one.
cudaError_t LaunchTreeSum(const TreeSumLaunch& launch, cudaStream_t stream);

}  // namespace tandem::device
