#include "worker/nccl/exchange_calls.h"

namespace tandem::nccl {
namespace {

NcclResult NoCalls(const NcclApi&, NcclComm*, device::StreamHandle*) {
  return NcclResult::kSuccess;
}

bool Failed(NcclResult result) {
  return result != NcclResult::kSuccess && result != NcclResult::kInProgress;
}

}  // namespace

ExchangeCalls GatherCalls(std::byte* slots, size_t slot_bytes, uint32_t rank) {
  if (slot_bytes == 0) return NoCalls;
  return [=](const NcclApi& api, NcclComm* comm, device::StreamHandle* stream) {
    return api.all_gather(slots + rank * slot_bytes, slots, slot_bytes, NcclDataType::kUint8, comm,
                          stream);
  };
}

// NCCL runs the sends and receives of a group at the same time.
ExchangeCalls AllToAllCalls(const std::byte* send, std::byte* receive, size_t slot_bytes,
                            uint32_t world_size) {
  if (slot_bytes == 0) return NoCalls;
  return [=](const NcclApi& api, NcclComm* comm, device::StreamHandle* stream) {
    NcclResult result = api.group_start();
    for (uint32_t peer = 0; peer < world_size && !Failed(result); ++peer) {
      result = api.send(send + peer * slot_bytes, slot_bytes, NcclDataType::kUint8,
                        static_cast<int>(peer), comm, stream);
      if (Failed(result)) break;
      result = api.recv(receive + peer * slot_bytes, slot_bytes, NcclDataType::kUint8,
                        static_cast<int>(peer), comm, stream);
    }
    // Also after a failure: else the next call would still be part of the group.
    const NcclResult ended = api.group_end();
    return Failed(result) ? result : ended;
  };
}

ExchangeCalls BroadcastCalls(std::byte* data, size_t bytes, uint32_t root) {
  if (bytes == 0) return NoCalls;
  return [=](const NcclApi& api, NcclComm* comm, device::StreamHandle* stream) {
    return api.broadcast(data, data, bytes, NcclDataType::kUint8, static_cast<int>(root), comm,
                         stream);
  };
}

ExchangeCalls SumCalls(float* values, size_t count) {
  if (count == 0) return NoCalls;
  return [=](const NcclApi& api, NcclComm* comm, device::StreamHandle* stream) {
    return api.all_reduce(values, values, count, NcclDataType::kFloat32, NcclReduction::kSum, comm,
                          stream);
  };
}

}  // namespace tandem::nccl
