#include "worker/trainer/share_source.h"

#include <functional>
#include <memory>
#include <utility>

#include "worker/trainer/share_plan.h"

namespace tandem::trainer {
namespace {

data::PrefetchOptions PrefetchOf(const Workload& workload, LogicalRange range,
                                 uint64_t first_step) {
  const v1::Data& data = workload.spec.data();
  const uint64_t steps = workload.sampler.total_steps() - first_step;
  return {data.loader_threads(), data.prefetch(), steps * (range.end - range.begin)};
}

// What the loader is to load, one share after the other.
std::function<data::Share(uint64_t)> PlanFrom(std::shared_ptr<SharePlan> plan, LogicalRange range,
                                              uint64_t first_step) {
  return [plan = std::move(plan), range, first_step](uint64_t number) {
    const uint64_t own = range.end - range.begin;
    const uint64_t step = first_step + number / own;
    const LogicalRank logical_rank(range.begin + static_cast<uint32_t>(number % own));
    return data::Share{plan->EpochOf(step), plan->SamplesOf(step, logical_rank)};
  };
}

}  // namespace

ShareSource::ShareSource(const Workload& workload, const Mistakes& mistakes, LogicalRange range,
                         uint64_t first_step)
    : loader_(
          *workload.training.dataset, workload.training.transforms,
          PrefetchOf(workload, range, first_step),
          PlanFrom(std::make_shared<SharePlan>(workload.sampler, workload.split.training, mistakes),
                   range, first_step)) {}

}  // namespace tandem::trainer
