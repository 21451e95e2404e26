#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/file_descriptor.h"
#include "tests/nccl/sockets.h"
#include "worker/nccl/nccl_api.h"

namespace tandem::stand_in {

enum class Direction : uint8_t { kSend, kReceive };

// Of one exchange: between this rank and `peer`.
struct Message {
  Direction direction;
  int peer;
  std::byte* data;  // not written to by a send
  size_t bytes;
};

// Connections with every other rank. One thread at a time.
class Mesh {
 public:
  // `notices_death`: else a peer that is gone is one that is silent.
  Mesh(std::vector<FileDescriptor> peers, int rank, bool notices_death)
      : peers_(std::move(peers)), rank_(rank), notices_death_(notices_death) {}

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(peers_.size()); }

  // All messages at once; those between the same two ranks in order. `number`: of the exchange, the
  // same on all ranks. A message that meets one of another exchange or size never ends, as with NCCL.
  //   kRemoteError    a peer is gone.
  //   kInternalError  interrupted.
  nccl::NcclResult Exchange(uint64_t number, const std::vector<Message>& messages,
                            const Interrupt& interrupt);

 private:
  const std::vector<FileDescriptor> peers_;  // by rank, not valid at this one's
  const int rank_;
  const bool notices_death_;
};

}  // namespace tandem::stand_in
