#include <utility>

#include "worker/model/seed.h"
#include "worker/model/synchronized_pass.h"
#include "worker/trainer/batch_pass.h"
#include "worker/trainer/leaf.h"

namespace tandem::trainer {
namespace {

class SynchronizedBatchPass : public BatchPass {
 public:
  explicit SynchronizedBatchPass(const PassParts& parts)
      : parts_(parts),
        pass_(*parts.workload.model, MakeFold(), [this](size_t leaf, size_t segment) {
          return ForwardSeedOf(parts_, step_, LogicalRankAt(leaf), segment);
        }) {}

  absl::Status Run(uint64_t step, double loss_scale) override {
    step_ = step;
    parts_.reducer.BeginStep(step);
    if (absl::Status status = LoadShares(); !status.ok()) return status;
    if (absl::Status status = Forward(); !status.ok()) return status;
    return Backward(loss_scale);
  }

 private:
  LogicalRank LogicalRankAt(size_t leaf) const {
    return LogicalRank(parts_.reducer.range().begin + static_cast<uint32_t>(leaf));
  }

  model::Fold MakeFold() {
    return [this](const model::FoldPlace& place,
                  absl::Span<const std::optional<model::Values>> leaves, model::FoldAdd add) {
      // Whoever waits here is waiting for another rank.
      parts_.position.Enter(step_, v1::PHASE_REDUCE);
      auto folded = parts_.fold.Fold({step_, place.operation, place.width}, leaves, add);
      parts_.position.Enter(step_, phase_);
      return folded;
    };
  }

  void EnterCompute(v1::Phase phase) {
    phase_ = phase;
    parts_.position.Enter(step_, phase);
  }

  absl::Status LoadShares() {
    parts_.position.Enter(step_, v1::PHASE_DATA);
    const LogicalRange range = parts_.reducer.range();
    shares_.clear();
    batches_.clear();
    for (uint32_t l = range.begin; l < range.end; ++l) {
      absl::StatusOr<std::optional<data::LoadedShare>> share = parts_.shares.Next();
      if (!share.ok()) return share.status();
      batches_.push_back(*share ? std::optional((*share)->batch) : std::nullopt);
      shares_.push_back(*std::move(share));
    }
    return absl::OkStatus();
  }

  absl::Status Forward() {
    EnterCompute(v1::PHASE_FORWARD);
    const auto outcomes = pass_.Forward(batches_);
    if (!outcomes.ok()) return outcomes.status();
    std::vector<std::optional<ddp::Tally>> tallies;
    for (size_t leaf = 0; leaf < shares_.size(); ++leaf) {
      tallies.push_back(TallyOf(shares_[leaf], (*outcomes)[leaf]));
      if (parts_.tracer == nullptr || !shares_[leaf]) continue;
      model::SeedDefaultGenerator(ForwardSeedOf(parts_, step_, LogicalRankAt(leaf)));
      parts_.tracer->OnLeaf(LogicalRankAt(leaf), shares_[leaf]->samples, model::FirstDraw(),
                            tallies.back());
    }
    StartStepTallies(parts_, step_, std::move(tallies));
    return absl::OkStatus();
  }

  absl::Status Backward(double loss_scale) {
    EnterCompute(v1::PHASE_BACKWARD);
    const auto gradients = pass_.Backward(loss_scale);
    if (!gradients.ok()) return gradients.status();
    for (size_t leaf = 0; leaf < gradients->size(); ++leaf) {
      parts_.reducer.BeginLogicalRank(LogicalRankAt(leaf));
      const std::vector<at::Tensor>& own = (*gradients)[leaf];
      for (size_t parameter = 0; parameter < own.size(); ++parameter) {
        if (own[parameter].defined()) parts_.reducer.Provide(parameter, own[parameter]);
      }
      parts_.reducer.EndLogicalRank(LogicalRankAt(leaf));
    }
    return absl::OkStatus();
  }

  const PassParts parts_;
  model::SynchronizedPass pass_;

  // Of this step, by logical rank of this rank.
  uint64_t step_ = 0;
  v1::Phase phase_ = v1::PHASE_FORWARD;  // between two folds
  std::vector<std::optional<data::LoadedShare>> shares_;
  std::vector<std::optional<data::Batch>> batches_;
};

}  // namespace

std::unique_ptr<BatchPass> MakeSynchronizedPass(const PassParts& parts) {
  return std::make_unique<SynchronizedBatchPass>(parts);
}

}  // namespace tandem::trainer
