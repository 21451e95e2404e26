#pragma once

#include <cstdint>
#include <string>

#include "worker/data/dataset.h"
#include "worker/data/open_source.h"

namespace tandem::data {

// Tensors of the samples of any source.
class SourceDataset : public Dataset {
 public:
  explicit SourceDataset(OpenedSource opened) : opened_(std::move(opened)) {}

  int64_t size() const override { return opened_.source->size(); }
  const SampleShape& shape() const override { return opened_.source->shape(); }
  const std::string& fingerprint() const override { return opened_.fingerprint; }
  Batch MakeBatch(absl::Span<const int64_t> indices) const override;

 private:
  const OpenedSource opened_;
};

}  // namespace tandem::data
