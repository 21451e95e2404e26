#pragma once

#include "worker/data/csv.h"
#include "worker/data/dataset.h"

namespace tandem::data {

// Inputs are samples x columns, targets are the labels.
class TableDataset : public Dataset {
 public:
  explicit TableDataset(Table table);

  int64_t size() const override { return static_cast<int64_t>(table_.rows()); }
  Batch MakeBatch(absl::Span<const int64_t> indices) const override;

 private:
  const Table table_;
};

}  // namespace tandem::data
