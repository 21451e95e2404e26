#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/dataset.h"
#include "worker/data/prefetcher.h"
#include "worker/data/transforms.h"

namespace tandem::data {

// One share: which samples, and in which epoch. Without an epoch, nothing random is done to them.
struct Share {
  std::optional<uint64_t> epoch;
  std::vector<int64_t> samples;
};

// The samples of a share with the transforms applied, which were made for this data set. None: the
// share is empty.
//   InvalidArgument  a number is not finite after a transform; names the sample and the key.
absl::StatusOr<std::optional<Batch>> LoadShare(const Dataset& dataset, const Transforms& transforms,
                                               const Share& share);

// What is trained on: which samples, and their tensors.
struct LoadedShare {
  std::vector<int64_t> samples;
  Batch batch;
};

// Loads shares ahead of the training. The bytes depend on the shares alone.
class Loader {
 public:
  // `plan` says what share number n is, n counted from 0; for its threads see Prefetcher. The data
  // set must outlive the loader.
  Loader(const Dataset& dataset, Transforms transforms, PrefetchOptions options,
         std::function<Share(uint64_t n)> plan);

  // The next share; none: it is empty. Errors are those of LoadShare and of Prefetcher::Next.
  absl::StatusOr<std::optional<LoadedShare>> Next() { return prefetcher_.Next(); }

 private:
  Prefetcher<Share, std::optional<LoadedShare>> prefetcher_;
};

}  // namespace tandem::data
