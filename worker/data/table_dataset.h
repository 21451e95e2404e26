#pragma once

#include <cstdint>
#include <string>

#include "worker/data/csv.h"
#include "worker/data/dataset.h"

namespace tandem::data {

// Inputs are samples x columns, targets are the labels.
class TableDataset : public Dataset {
 public:
  TableDataset(Table table, int64_t classes);

  int64_t size() const override { return static_cast<int64_t>(table_.rows()); }
  const SampleShape& shape() const override { return shape_; }
  const std::string& fingerprint() const override { return table_.sha256; }
  Batch MakeBatch(absl::Span<const int64_t> indices) const override;

 private:
  const Table table_;
  const SampleShape shape_;
};

}  // namespace tandem::data
