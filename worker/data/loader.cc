#include "worker/data/loader.h"

#include <utility>

namespace tandem::data {

absl::StatusOr<std::optional<Batch>> LoadShare(const Dataset& dataset, const Transforms& transforms,
                                               const Share& share) {
  if (share.samples.empty()) return std::nullopt;
  const Batch batch = dataset.MakeBatch(share.samples);
  if (transforms.empty()) return batch;
  auto* inputs = batch.inputs.data_ptr<float>();
  const auto length = static_cast<size_t>(ElementsOf(dataset.shape().inputs));
  for (const int64_t sample : share.samples) {
    absl::Status status = transforms.Apply(share.epoch, sample, absl::MakeSpan(inputs, length));
    if (!status.ok()) return status;
    inputs += length;
  }
  return batch;
}

Loader::Loader(const Dataset& dataset, Transforms transforms, PrefetchOptions options,
               std::function<Share(uint64_t n)> plan)
    : prefetcher_(options, std::move(plan),
                  [&dataset, transforms = std::move(transforms)](
                      Share share) -> absl::StatusOr<std::optional<LoadedShare>> {
                    auto batch = LoadShare(dataset, transforms, share);
                    if (!batch.ok()) return batch.status();
                    if (!*batch) return std::nullopt;
                    return LoadedShare{std::move(share.samples), **std::move(batch)};
                  }) {}

}  // namespace tandem::data
