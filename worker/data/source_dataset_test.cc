#include "worker/data/source_dataset.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "worker/data/samples.h"

namespace tandem::data {
namespace {

SourceDataset FourSamples() {
  Samples samples{.shape = {.inputs = {1, 2}, .targets = {}, .classes = 10},
                  .count = 4,
                  .inputs = std::vector<float>{0, 1, 10, 11, 20, 21, 30, 31},
                  .targets = std::vector<int64_t>{4, 5, 6, 7}};
  return SourceDataset({std::make_unique<MemorySource>(std::move(samples)), "f"});
}

SourceDataset TwoRowsOfTokens() {
  Samples samples{.shape = {.inputs = {3}, .vocabulary = 9, .targets = {2}},
                  .count = 2,
                  .inputs = std::vector<int64_t>{0, 1, 2, 3, 4, 5},
                  .targets = std::vector<float>{0.5, 1.5, 2.5, 3.5}};
  return SourceDataset({std::make_unique<MemorySource>(std::move(samples)), "f"});
}

TEST(SourceDataset, MakeBatch_HoldsTheNamedSamplesInOrder) {
  const SourceDataset dataset = FourSamples();
  EXPECT_EQ(dataset.size(), 4);
  const Batch batch = dataset.MakeBatch({3, 1});
  ASSERT_EQ(batch.inputs.sizes(), (at::IntArrayRef{2, 1, 2}));
  ASSERT_EQ(batch.targets.sizes(), (at::IntArrayRef{2}));
  EXPECT_EQ(batch.inputs[0][0][1].item<float>(), 31);
  EXPECT_EQ(batch.inputs[1][0][0].item<float>(), 10);
  EXPECT_EQ(batch.targets[0].item<int64_t>(), 7);
  EXPECT_EQ(batch.targets[1].item<int64_t>(), 5);
}

TEST(SourceDataset, MakeBatch_TokensAndNumbers_AreInt64AndFloat32) {
  const Batch batch = TwoRowsOfTokens().MakeBatch({1});
  ASSERT_EQ(batch.inputs.sizes(), (at::IntArrayRef{1, 3}));
  ASSERT_EQ(batch.targets.sizes(), (at::IntArrayRef{1, 2}));
  EXPECT_EQ(batch.inputs[0][2].item<int64_t>(), 5);
  EXPECT_EQ(batch.targets[0][1].item<float>(), 3.5);
}

TEST(SourceDataset, MakeBatch_AnySize_IsAlignedContiguousAndItsOwn) {
  const SourceDataset dataset = FourSamples();
  for (const std::vector<int64_t>& indices :
       std::vector<std::vector<int64_t>>{{0}, {1, 2}, {0, 1, 2}, {3, 2, 1, 0}}) {
    const Batch batch = dataset.MakeBatch(indices);
    for (const at::Tensor& tensor : {batch.inputs, batch.targets}) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 64, 0u);
      EXPECT_TRUE(tensor.is_contiguous());
      EXPECT_EQ(tensor.storage_offset(), 0);
      EXPECT_EQ(tensor.storage().nbytes(), tensor.nbytes());
    }
  }
}

}  // namespace
}  // namespace tandem::data
