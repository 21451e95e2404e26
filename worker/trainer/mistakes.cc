#include "worker/trainer/mistakes.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace tandem::trainer {
namespace {

uint64_t SeedFrom(uint64_t seed, uint64_t key) {
  // As narrow as a seed of a specification.
  return MixKeys(RandomUse::kMistake, seed, key) & std::numeric_limits<uint32_t>::max();
}

}  // namespace

v1::JobSpec Mistakes::InJob(v1::JobSpec spec) const {
  if (unsafe_.batch_per_rank()) {
    constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
    const uint64_t batch = uint64_t{spec.global_batch_size()} * world_size_;
    spec.set_global_batch_size(static_cast<uint32_t>(std::min(batch, kMost)));
  }
  if (unsafe_.threads_by_world_size()) spec.set_threads_per_rank(world_size_ == 1 ? 2 : 1);
  if (unsafe_.unseeded()) {
    spec.set_seed(SeedFrom(spec.seed(), std::hash<std::string>()(job_id_)));
  }
  return spec;
}

v1::JobSpec Mistakes::InWeights(v1::JobSpec spec) const {
  if (unsafe_.weights_by_world_size()) spec.set_seed(SeedFrom(spec.seed(), world_size_));
  return spec;
}

v1::JobSpec Mistakes::InOrder(v1::JobSpec spec) const {
  if (unsafe_.order_by_rank()) spec.set_seed(SeedFrom(spec.seed(), rank_.value()));
  return spec;
}

uint64_t Mistakes::OrderEpoch(uint64_t epoch) const {
  return unsafe_.same_order_every_epoch() && world_size_ > 1 ? 0 : epoch;
}

uint64_t Mistakes::Seed(const ForwardSeed& seed, ForwardPass pass, LogicalRank first) const {
  if (unsafe_.same_dropout_mask()) {
    pass.logical_rank = LogicalRank(pass.logical_rank.value() - first.value());
  }
  if (unsafe_.dropout_by_rank()) {
    return MixKeys(RandomUse::kMistake, pass.job_seed, pass.step, uint64_t{rank_.value()});
  }
  return seed(pass);
}

double Mistakes::GradientFactor() const {
  switch (unsafe_.gradient_scale()) {
    case v1::GRADIENT_SCALE_AVERAGED_TWICE:
      return 1.0 / world_size_;
    case v1::GRADIENT_SCALE_SUMMED:
      return world_size_;
    default:
      return 1;
  }
}

}  // namespace tandem::trainer
