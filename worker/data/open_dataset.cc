#include "worker/data/open_dataset.h"

#include <utility>

#include "worker/data/open_source.h"
#include "worker/data/source_dataset.h"

namespace tandem::data {

absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(const v1::Data& data, uint64_t seed) {
  absl::StatusOr<OpenedSource> opened = OpenSource(data, seed);
  if (!opened.ok()) return opened.status();
  return std::make_unique<SourceDataset>(*std::move(opened));
}

}  // namespace tandem::data
