#pragma once

#include <cstddef>
#include <vector>

#include "tests/nccl/communicator.h"
#include "tests/nccl/mesh.h"

// What each kind of exchange does in the stream.
namespace tandem::stand_in {

Work Exchange(std::vector<Message> messages);
// `slots`: a slot of `bytes` per rank.
Work AllGather(const std::byte* own, std::byte* slots, size_t bytes);
Work Broadcast(const std::byte* from, std::byte* to, size_t bytes, int root);
// In an order of its own, the same on every rank: from the last rank to the first.
Work AllReduceSum(const float* from, float* to, size_t count);

}  // namespace tandem::stand_in
