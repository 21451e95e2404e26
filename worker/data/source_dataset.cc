#include "worker/data/source_dataset.h"

#include <vector>

#include "ATen/Functions.h"

namespace tandem::data {
namespace {

at::Tensor Empty(size_t samples, const std::vector<int64_t>& shape, bool is_index) {
  std::vector<int64_t> sizes = {static_cast<int64_t>(samples)};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return at::empty(sizes, is_index ? at::kLong : at::kFloat);
}

NumberSpan RowOf(const at::Tensor& tensor, size_t row) {
  const auto length = static_cast<size_t>(tensor.numel() / tensor.size(0));
  if (tensor.scalar_type() == at::kLong) {
    return absl::MakeSpan(tensor.data_ptr<int64_t>() + row * length, length);
  }
  return absl::MakeSpan(tensor.data_ptr<float>() + row * length, length);
}

}  // namespace

Batch SourceDataset::MakeBatch(absl::Span<const int64_t> indices) const {
  const Batch batch{Empty(indices.size(), shape().inputs, shape().vocabulary > 0),
                    Empty(indices.size(), shape().targets, shape().classes > 0)};
  for (size_t row = 0; row < indices.size(); ++row) {
    opened_.source->Copy(indices[row], RowOf(batch.inputs, row), RowOf(batch.targets, row));
  }
  return batch;
}

}  // namespace tandem::data
