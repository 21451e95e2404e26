#include "worker/data/holdout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/keyed_hash.h"
#include "worker/data/permutation.h"

namespace tandem::data {

absl::StatusOr<Split> HoldOut(int64_t samples, double share, uint64_t seed) {
  const int64_t held_out = std::llround(static_cast<double>(samples) * share);
  if (held_out < 1 || held_out >= samples) {
    return absl::InvalidArgumentError(absl::StrCat("evaluate.holdout: a share of ", share, " of ",
                                                   samples, " samples leaves none ",
                                                   held_out < 1 ? "to measure on" : "to train on"));
  }
  std::vector<int64_t> order = KeyedPermutation(samples, MixKeys(RandomUse::kHoldout, seed));
  Split split;
  split.held_out.assign(order.begin(), order.begin() + held_out);
  split.training.assign(order.begin() + held_out, order.end());
  std::sort(split.held_out.begin(), split.held_out.end());
  std::sort(split.training.begin(), split.training.end());
  return split;
}

Split TrainOnAll(int64_t samples) {
  Split split;
  split.training.resize(static_cast<size_t>(samples));
  std::iota(split.training.begin(), split.training.end(), 0);
  return split;
}

}  // namespace tandem::data
