#include <utility>

#include "ATen/Functions.h"
#include "worker/model/seed.h"
#include "worker/model/step_buffers.h"
#include "worker/trainer/batch_pass.h"
#include "worker/trainer/leaf.h"

namespace tandem::trainer {
namespace {

class SequentialPass : public BatchPass {
 public:
  explicit SequentialPass(const PassParts& parts)
      : parts_(parts), buffers_(parts.workload.model->Buffers()) {}

  absl::Status Run(uint64_t step, double loss_scale) override {
    step_ = step;
    tallies_.clear();
    parts_.reducer.BeginStep(step);
    if (!parts_.mistakes.BuffersStayOnRank()) buffers_.BeginStep(KeeperOfBuffers(parts_, step));
    const LogicalRange range = parts_.reducer.range();
    for (uint32_t l = range.begin; l < range.end; ++l) {
      absl::Status status = RunLogicalRank(LogicalRank(l), l + 1 == range.end, loss_scale);
      if (!status.ok()) return status;
    }
    if (!parts_.mistakes.BuffersStayOnRank()) buffers_.EndStep();
    return absl::OkStatus();
  }

 private:
  absl::Status RunLogicalRank(LogicalRank logical_rank, bool is_last, double loss_scale) {
    parts_.position.Enter(step_, v1::PHASE_DATA);
    const auto share = parts_.shares.Next();
    if (!share.ok()) return share.status();
    std::optional<model::Outcome> outcome;
    if (*share) outcome = Forward(logical_rank, **share);
    tallies_.push_back(TallyOf(*share, outcome));
    // Before the last backward, so that the two exchanges share their wait.
    if (is_last) StartStepTallies(parts_, step_, tallies_);
    Backward(logical_rank, outcome, loss_scale);
    return absl::OkStatus();
  }

  model::Outcome Forward(LogicalRank logical_rank, const data::LoadedShare& share) {
    parts_.position.Enter(step_, v1::PHASE_FORWARD);
    model::SeedDefaultGenerator(ForwardSeedOf(parts_, step_, logical_rank),
                                parts_.workload.model->device());
    const uint64_t first_draw = parts_.tracer == nullptr ? 0 : model::FirstDraw();
    if (!parts_.mistakes.BuffersStayOnRank()) buffers_.BeginLogicalRank();
    model::Outcome outcome = parts_.workload.model->Forward(share.batch);
    if (!parts_.mistakes.BuffersStayOnRank()) buffers_.EndLogicalRank(logical_rank);
    if (parts_.tracer != nullptr) {
      parts_.tracer->OnLeaf(logical_rank, share.samples, first_draw, TallyOf(share, outcome));
    }
    return outcome;
  }

  void Backward(LogicalRank logical_rank, const std::optional<model::Outcome>& outcome,
                double loss_scale) {
    if (!outcome || outcome->count == 0) return parts_.reducer.SkipLogicalRank(logical_rank);
    parts_.position.Enter(step_, v1::PHASE_BACKWARD);
    parts_.reducer.BeginLogicalRank(logical_rank);
    const bool is_scaled = loss_scale != 1;
    (is_scaled ? at::mul(outcome->loss_sum, loss_scale) : outcome->loss_sum).backward();
    parts_.reducer.EndLogicalRank(logical_rank);
  }

  const PassParts parts_;
  model::StepBuffers buffers_;
  uint64_t step_ = 0;
  std::vector<std::optional<ddp::Tally>> tallies_;  // of this step, so far
};

}  // namespace

std::unique_ptr<BatchPass> MakeSequentialPass(const PassParts& parts) {
  return std::make_unique<SequentialPass>(parts);
}

}  // namespace tandem::trainer
