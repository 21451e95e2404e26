#include "worker/data/table_dataset.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace tandem::data {
namespace {

Table FourSamples() {
  Table table;
  table.columns = 2;
  table.features = {0, 1, 10, 11, 20, 21, 30, 31};
  table.labels = {4, 5, 6, 7};
  return table;
}

TEST(TableDataset, MakeBatch_HoldsTheNamedSamplesInOrder) {
  const TableDataset dataset(FourSamples(), 3);
  EXPECT_EQ(dataset.size(), 4);
  const Batch batch = dataset.MakeBatch({3, 1});
  ASSERT_EQ(batch.inputs.sizes(), (at::IntArrayRef{2, 2}));
  EXPECT_EQ(batch.inputs[0][1].item<float>(), 31);
  EXPECT_EQ(batch.inputs[1][0].item<float>(), 10);
  EXPECT_EQ(batch.targets[0].item<int64_t>(), 7);
  EXPECT_EQ(batch.targets[1].item<int64_t>(), 5);
}

TEST(TableDataset, MakeBatch_AnySize_IsAlignedContiguousAndItsOwn) {
  const TableDataset dataset(FourSamples(), 3);
  for (const std::vector<int64_t>& indices :
       std::vector<std::vector<int64_t>>{{0}, {1, 2}, {0, 1, 2}, {3, 2, 1, 0}}) {
    const Batch batch = dataset.MakeBatch(indices);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.inputs.data_ptr()) % 64, 0u);
    EXPECT_TRUE(batch.inputs.is_contiguous());
    EXPECT_EQ(batch.inputs.storage_offset(), 0);
    EXPECT_EQ(batch.inputs.storage().nbytes(), batch.inputs.nbytes());
  }
}

}  // namespace
}  // namespace tandem::data
