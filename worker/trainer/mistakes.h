#pragma once

#include <cstdint>
#include <string>

#include "common/ids.h"
#include "tandem/v1/spec.pb.h"
#include "worker/trainer/forward_seed.h"

namespace tandem::trainer {

// The mistakes that a specification asks for under `unsafe`, so that `tandem verify` can be seen to
// find them. With all switches off every function gives back what it was given.
class Mistakes {
 public:
  Mistakes(const v1::Unsafe& unsafe, const std::string& job_id, Rank rank, uint32_t world_size)
      : unsafe_(unsafe), job_id_(job_id), rank_(rank), world_size_(world_size) {}

  // The specification that is trained in place of `spec`.
  v1::JobSpec InJob(v1::JobSpec spec) const;
  // Those that initial weights and the order of the data are made from in place of it.
  v1::JobSpec InWeights(v1::JobSpec spec) const;
  v1::JobSpec InOrder(v1::JobSpec spec) const;
  // The epoch whose order is taken.
  uint64_t OrderEpoch(uint64_t epoch) const;
  // `first`: of the rank's logical ranks.
  uint64_t Seed(const ForwardSeed& seed, ForwardPass pass, LogicalRank first) const;
  // What the finished gradient is multiplied by.
  double GradientFactor() const;
  // Whether running statistics go from one logical rank of a rank to the next, and to no other rank.
  bool BuffersStayOnRank() const { return unsafe_.batch_norm_by_rank(); }

 private:
  const v1::Unsafe unsafe_;
  const std::string job_id_;
  const Rank rank_;
  const uint32_t world_size_;
};

}  // namespace tandem::trainer
