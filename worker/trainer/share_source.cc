#include "worker/trainer/share_source.h"

#include <memory>
#include <utility>

namespace tandem::trainer {
namespace {

// What the loader asks for, one share after the other.
data::Loader::Plan PlanFrom(std::shared_ptr<SharePlan> plan, LogicalRange range,
                            uint64_t first_step) {
  return [plan = std::move(plan), range, first_step](uint64_t number) {
    const uint64_t leaves = range.end - range.begin;
    const uint64_t step = first_step + number / leaves;
    const LogicalRank logical_rank(range.begin + static_cast<uint32_t>(number % leaves));
    return data::Loader::Work{plan->EpochOf(step), plan->SamplesOf(step, logical_rank)};
  };
}

}  // namespace

ShareSource::ShareSource(const Workload& workload, const Mistakes& mistakes, LogicalRange range,
                         uint64_t first_step)
    : plan_(workload.sampler, workload.split.training, mistakes),
      loader_(*workload.dataset, workload.spec.data(), workload.spec.seed(),
              PlanFrom(std::make_shared<SharePlan>(plan_), range, first_step)) {}

absl::StatusOr<std::optional<Share>> ShareSource::Next(uint64_t step, LogicalRank logical_rank) {
  absl::StatusOr<std::optional<data::Batch>> batch = loader_.Next();
  if (!batch.ok()) return batch.status();
  if (!*batch) return std::nullopt;
  return Share{plan_.SamplesOf(step, logical_rank), **std::move(batch)};
}

}  // namespace tandem::trainer
