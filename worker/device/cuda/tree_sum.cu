#include "worker/device/cuda/tree_sum.h"

namespace tandem::device {
namespace {

constexpr int64_t kThreadsPerBlock = 256;
constexpr int64_t kMostBlocks = 65535;

__global__ void AddRuns(TreeSumLaunch launch) {
  const int64_t threads = blockDim.x;
  const GridPlace place = {blockIdx.x * threads + threadIdx.x, gridDim.x * threads, blockIdx.y,
                           gridDim.y};
  AddRunsInTree(launch.runs, launch.count, launch.terms, launch.scale, launch.sum, place);
}

unsigned AtMost(int64_t blocks) {
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

}  // namespace

cudaError_t LaunchTreeSum(const TreeSumLaunch& launch, cudaStream_t stream) {
  const int64_t columns = (launch.most_pieces + kThreadsPerBlock - 1) / kThreadsPerBlock;
  const dim3 grid(AtMost(columns), AtMost(launch.count));
  AddRuns<<<grid, kThreadsPerBlock, 0, stream>>>(launch);
  return cudaGetLastError();
}

}  // namespace tandem::device
