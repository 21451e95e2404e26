#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "worker/nccl/nccl_api.h"

namespace tandem::nccl {

// The calls that put one exchange into a stream, for when its turn has come. Buffers are the device's,
// as those of ddp::Transport; with nothing to move there are no calls.
using ExchangeCalls = std::function<NcclResult(const NcclApi&, NcclComm*, device::StreamHandle*)>;

ExchangeCalls GatherCalls(std::byte* slots, size_t slot_bytes, uint32_t rank);
ExchangeCalls AllToAllCalls(const std::byte* send, std::byte* receive, size_t slot_bytes,
                            uint32_t world_size);
ExchangeCalls BroadcastCalls(std::byte* data, size_t bytes, uint32_t root);
ExchangeCalls SumCalls(float* values, size_t count);

}  // namespace tandem::nccl
