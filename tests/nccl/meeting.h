#pragma once

#include <cstdint>
#include <vector>

#include "common/file_descriptor.h"
#include "tests/nccl/sockets.h"
#include "worker/nccl/nccl_api.h"

// How ranks that share an id find each other: each tells a thread of the process that minted it where
// it listens, and is told of the others once all have come.
namespace tandem::stand_in {

// Listens in a thread from now on, until all have come or the process exits.
nccl::NcclResult Mint(nccl::NcclUniqueId* id);

struct Party {
  int ranks = 0;
  int rank = 0;
  bool dies_checked_in = false;  // as soon as it has told where it listens
};

// Connects with every other rank: `peers` by rank, not valid at its own. Ranks that disagree wait until
// they are interrupted.
//   kRemoteError    a rank, or who minted the id, is gone.
//   kInternalError  the id is not one; or interrupted.
nccl::NcclResult Meet(const nccl::NcclUniqueId& id, Party self, const Interrupt& interrupt,
                      std::vector<FileDescriptor>* peers);

}  // namespace tandem::stand_in
