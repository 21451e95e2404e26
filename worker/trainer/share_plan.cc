#include "worker/trainer/share_plan.h"

namespace tandem::trainer {

std::vector<int64_t> SharePlan::SamplesOf(uint64_t step, LogicalRank logical_rank) {
  const data::Sampler::Position position = sampler_.At(step);
  const uint64_t epoch = mistakes_.OrderEpoch(position.epoch);
  if (epoch_ != epoch) {
    order_ = sampler_.Order(epoch);
    epoch_ = epoch;
  }
  const data::Range places = sampler_.Share(position.batch, logical_rank);
  std::vector<int64_t> samples;
  for (int64_t place = places.begin; place < places.end; ++place) {
    samples.push_back(training_[static_cast<size_t>(order_[static_cast<size_t>(place)])]);
  }
  return samples;
}

}  // namespace tandem::trainer
