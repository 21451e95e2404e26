#include "tests/nccl/operations.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tandem::stand_in {
namespace {

using nccl::NcclResult;

void AddSend(int peer, const std::byte* data, size_t bytes, std::vector<Message>& messages) {
  messages.push_back({Direction::kSend, peer, const_cast<std::byte*>(data), bytes});
}

void AddReceive(int peer, std::byte* data, size_t bytes, std::vector<Message>& messages) {
  messages.push_back({Direction::kReceive, peer, data, bytes});
}

}  // namespace

Work Exchange(std::vector<Message> messages) {
  return [messages = std::move(messages)](Mesh& mesh, uint64_t number, const Interrupt& interrupt) {
    return mesh.Exchange(number, messages, interrupt);
  };
}

Work AllGather(const std::byte* own, std::byte* slots, size_t bytes) {
  return [=](Mesh& mesh, uint64_t number, const Interrupt& interrupt) {
    std::vector<Message> messages;
    for (int peer = 0; peer < mesh.ranks(); ++peer) {
      if (peer == mesh.rank()) continue;
      AddSend(peer, own, bytes, messages);
      AddReceive(peer, slots + peer * bytes, bytes, messages);
    }
    std::memmove(slots + mesh.rank() * bytes, own, bytes);
    return mesh.Exchange(number, messages, interrupt);
  };
}

Work Broadcast(const std::byte* from, std::byte* to, size_t bytes, int root) {
  return [=](Mesh& mesh, uint64_t number, const Interrupt& interrupt) {
    std::vector<Message> messages;
    if (mesh.rank() != root) {
      AddReceive(root, to, bytes, messages);
      return mesh.Exchange(number, messages, interrupt);
    }
    for (int peer = 0; peer < mesh.ranks(); ++peer) {
      if (peer != root) AddSend(peer, from, bytes, messages);
    }
    std::memmove(to, from, bytes);
    return mesh.Exchange(number, messages, interrupt);
  };
}

Work AllReduceSum(const float* from, float* to, size_t count) {
  return [=](Mesh& mesh, uint64_t number, const Interrupt& interrupt) {
    std::vector<float> slots(mesh.ranks() * count);
    const Work gather =
        AllGather(reinterpret_cast<const std::byte*>(from),
                  reinterpret_cast<std::byte*>(slots.data()), count * sizeof(float));
    const NcclResult result = gather(mesh, number, interrupt);
    if (result != NcclResult::kSuccess) return result;
    std::copy_n(slots.end() - static_cast<ptrdiff_t>(count), count, to);
    for (int rank = mesh.ranks() - 1; rank-- > 0;) {
      for (size_t i = 0; i < count; ++i) to[i] += slots[rank * count + i];
    }
    return NcclResult::kSuccess;
  };
}

}  // namespace tandem::stand_in
