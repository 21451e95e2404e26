#include "worker/data/table_dataset.h"

#include <algorithm>
#include <utility>

#include "ATen/Functions.h"

namespace tandem::data {

TableDataset::TableDataset(Table table, int64_t classes)
    : table_(std::move(table)),
      shape_{.inputs = {static_cast<int64_t>(table_.columns)}, .targets = {}, .classes = classes} {}

Batch TableDataset::MakeBatch(absl::Span<const int64_t> indices) const {
  const auto samples = static_cast<int64_t>(indices.size());
  const auto columns = static_cast<int64_t>(table_.columns);
  Batch batch{at::empty({samples, columns}, at::kFloat), at::empty({samples}, at::kLong)};
  float* input = batch.inputs.data_ptr<float>();
  int64_t* target = batch.targets.data_ptr<int64_t>();
  for (const int64_t index : indices) {
    input = std::copy_n(table_.features.data() + index * columns, columns, input);
    *target++ = table_.labels[static_cast<size_t>(index)];
  }
  return batch;
}

}  // namespace tandem::data
