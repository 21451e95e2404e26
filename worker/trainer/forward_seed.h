#pragma once

#include <cstdint>
#include <functional>

#include "common/ids.h"
#include "common/keyed_hash.h"

namespace tandem::trainer {

// One forward pass of the training.
struct ForwardPass {
  uint64_t job_seed = 0;
  uint64_t step = 0;  // counted from 0
  LogicalRank logical_rank;
  Rank rank;             // that executes it
  uint64_t segment = 0;  // of a network that is cut at its normalizations
};

// Gives the seed of a forward pass. Tests replace it by wrong ones.
using ForwardSeed = std::function<uint64_t(const ForwardPass&)>;

// Blind to the rank, so that dropout is the same at every world size. LibTorch's generator takes the
// low 32 bits, so two passes of a long job may share a mask by chance; no two are meant to.
inline uint64_t SeedByLogicalRank(const ForwardPass& pass) {
  return MixKeys(RandomUse::kForward, pass.job_seed, pass.step, uint64_t{pass.logical_rank.value()},
                 pass.segment);
}

}  // namespace tandem::trainer
