#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::data {

// A contiguous range [begin, end).
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  friend bool operator==(const Range&, const Range&) = default;
};

// Part `index` of `parts` parts of a range: [floor(index*m/parts), floor((index+1)*m/parts)) of its
// m elements. Sizes differ by at most one; some are empty when m < parts.
Range PartOf(Range whole, uint32_t index, uint32_t parts);

// Which samples belong to which logical rank at which step. A pure function of the specification
// and the number of training samples: it has no position to keep, and knows nothing of the world
// size.
class Sampler {
 public:
  // Takes seed, global batch, logical ranks, length, shuffle and drop_last from a specification
  // with all defaults filled in.
  //   InvalidArgument  drop_last leaves no batch at all, or the length is beyond counting; names
  //   the key.
  static absl::StatusOr<Sampler> Create(const v1::JobSpec& spec, int64_t training_samples);

  struct Position {
    uint64_t epoch = 0;  // counted from 0
    uint64_t batch = 0;  // within the epoch, counted from 0
  };

  uint64_t total_steps() const { return total_steps_; }
  uint64_t batches_per_epoch() const { return batches_per_epoch_; }
  // Where step number `step` (counted from 0) falls.
  Position At(uint64_t step) const;

  // The training samples, 0..n-1, in the order in which `epoch` visits them.
  std::vector<int64_t> Order(uint64_t epoch) const;
  // Places in that order which make up a global batch; the last one of an epoch may be short.
  Range Batch(uint64_t batch) const;
  // Places of one logical rank's share of it; may be empty.
  Range Share(uint64_t batch, LogicalRank logical_rank) const;
  // The first logical rank whose share of it is not empty.
  LogicalRank FirstWithShare(uint64_t batch) const;

 private:
  Sampler(const v1::JobSpec& spec, int64_t samples);
  absl::Status SetLength(const v1::JobSpec& spec);

  int64_t samples_;
  int64_t batch_size_;
  uint32_t logical_ranks_;
  uint64_t seed_;
  bool shuffle_;
  uint64_t batches_per_epoch_;
  uint64_t total_steps_ = 0;
};

}  // namespace tandem::data
