#include "worker/data/sampler.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/keyed_hash.h"
#include "worker/data/permutation.h"

namespace tandem::data {
namespace {

// The widest count of steps that the progress page can hold.
constexpr uint64_t kMaxSteps = (uint64_t{1} << 56) - 1;

}  // namespace

Range PartOf(Range whole, uint32_t index, uint32_t parts) {
  return {whole.begin + whole.size() * index / parts,
          whole.begin + whole.size() * (int64_t{index} + 1) / parts};
}

absl::StatusOr<Sampler> Sampler::Create(const v1::JobSpec& spec, int64_t training_samples) {
  Sampler sampler(spec, training_samples);
  if (absl::Status status = sampler.SetLength(spec); !status.ok()) return status;
  return sampler;
}

Sampler::Sampler(const v1::JobSpec& spec, int64_t samples)
    : samples_(samples),
      batch_size_(spec.global_batch_size()),
      logical_ranks_(spec.logical_ranks()),
      seed_(spec.seed()),
      shuffle_(spec.data().shuffle()),
      batches_per_epoch_((samples + (spec.data().drop_last() ? 0 : batch_size_ - 1)) /
                         batch_size_) {}

absl::Status Sampler::SetLength(const v1::JobSpec& spec) {
  if (batches_per_epoch_ == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.drop_last: ", samples_,
                     " training samples do not fill one global batch of ", batch_size_));
  }
  const bool by_steps = spec.has_steps();
  if (by_steps ? spec.steps() > kMaxSteps : spec.epochs() > kMaxSteps / batches_per_epoch_) {
    return absl::InvalidArgumentError(
        absl::StrCat(by_steps ? "steps" : "epochs", ": at most 2^56 - 1 steps can be counted"));
  }
  total_steps_ = by_steps ? spec.steps() : spec.epochs() * batches_per_epoch_;
  return absl::OkStatus();
}

Sampler::Position Sampler::At(uint64_t step) const {
  return {step / batches_per_epoch_, step % batches_per_epoch_};
}

std::vector<int64_t> Sampler::Order(uint64_t epoch) const {
  if (shuffle_) return KeyedPermutation(samples_, MixKeys(RandomUse::kEpochOrder, seed_, epoch));
  std::vector<int64_t> order(static_cast<size_t>(samples_));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Range Sampler::Batch(uint64_t batch) const {
  const int64_t begin = static_cast<int64_t>(batch) * batch_size_;
  return {begin, std::min(begin + batch_size_, samples_)};
}

Range Sampler::Share(uint64_t batch, LogicalRank logical_rank) const {
  return PartOf(Batch(batch), logical_rank.value(), logical_ranks_);
}

LogicalRank Sampler::FirstWithShare(uint64_t batch) const {
  // The smallest l with (l + 1) * size >= logical ranks: see PartOf.
  const int64_t size = Batch(batch).size();
  return LogicalRank(static_cast<uint32_t>((logical_ranks_ + size - 1) / size - 1));
}

}  // namespace tandem::data
