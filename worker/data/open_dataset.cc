#include "worker/data/open_dataset.h"

#include <utility>

#include "worker/data/csv.h"
#include "worker/data/table_dataset.h"

namespace tandem::data {

absl::StatusOr<std::unique_ptr<Dataset>> OpenDataset(const v1::Data& data, uint64_t seed) {
  absl::StatusOr<Table> table = ReadCsv(data.csv());
  if (!table.ok()) return table.status();
  return std::make_unique<TableDataset>(*std::move(table), data.csv().classes());
}

}  // namespace tandem::data
