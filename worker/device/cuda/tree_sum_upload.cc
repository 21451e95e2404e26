#include "worker/device/cuda/tree_sum_upload.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "worker/device/cuda/cuda_status.h"
#include "worker/device/cuda/tree_sum.h"
#include "worker/device/tree_sum_plan.h"

namespace tandem::device {
namespace {

// A piece of the device's memory for the work of one stream: whoever has it next is behind that.
class StreamMemory {
 public:
  StreamMemory(size_t bytes, cudaStream_t stream)
      : data_(c10::cuda::CUDACachingAllocator::raw_alloc_with_stream(bytes, stream)) {}
  ~StreamMemory() { c10::cuda::CUDACachingAllocator::raw_delete(data_); }
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* const data_;
};

size_t RunBytes(const TreePlan& plan) { return plan.runs.size() * sizeof(TreeRun); }
size_t TermBytes(const TreePlan& plan) { return plan.terms.size() * sizeof(TreeTerm); }

// Through pinned memory, which is not used again before the copy is done. From any other the copy
// would begin only when all earlier work of the stream is done, and be waited for.
cudaError_t Upload(const TreePlan& plan, std::byte* to, cudaStream_t stream, int8_t device_index) {
  at::HostAllocator* allocator = at::getHostAllocator(at::kCUDA);
  const at::DataPtr pinned = allocator->allocate(RunBytes(plan) + TermBytes(plan));
  auto* bytes = static_cast<std::byte*>(pinned.get());
  std::memcpy(bytes, plan.runs.data(), RunBytes(plan));
  std::memcpy(bytes + RunBytes(plan), plan.terms.data(), TermBytes(plan));
  const cudaError_t error =
      cudaMemcpyAsync(to, bytes, RunBytes(plan) + TermBytes(plan), cudaMemcpyHostToDevice, stream);
  allocator->record_event(bytes, pinned.get_context(),
                          c10::cuda::getStreamFromExternal(stream, device_index));
  return error;
}

int64_t MostPieces(const TreePlan& plan) {
  int64_t most = 0;
  for (const TreeRun& run : plan.runs) most = std::max(most, PiecesOf(run));
  return most;
}

}  // namespace

absl::Status AddInTreeOn(const TreeSum& sum, cudaStream_t stream, int8_t device_index) {
  const absl::StatusOr<TreePlan> plan = PlanTreeSum(sum);
  if (!plan.ok()) return plan.status();
  if (plan->runs.empty()) return absl::OkStatus();
  static_assert(sizeof(TreeRun) % alignof(TreeTerm) == 0);
  const StreamMemory memory(RunBytes(*plan) + TermBytes(*plan), stream);
  cudaError_t error = Upload(*plan, memory.data(), stream, device_index);
  if (error == cudaSuccess) {
    TreeSumLaunch launch;
    launch.runs = reinterpret_cast<const TreeRun*>(memory.data());
    launch.count = static_cast<uint32_t>(plan->runs.size());
    launch.terms = reinterpret_cast<const TreeTerm*>(memory.data() + RunBytes(*plan));
    launch.most_pieces = MostPieces(*plan);
    launch.sum = sum.sum;
    launch.scale = sum.scale;
    error = LaunchTreeSum(launch, stream);
  }
  return CudaStatus(error, absl::StrCat("cuda:", int{device_index}), "adding in the tree");
}

}  // namespace tandem::device
