#include "worker/data/loader.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "worker/data/open_dataset.h"

namespace tandem::data {
namespace {

constexpr uint64_t kShares = 60;

v1::Data Squares() {
  v1::Data data;
  data.mutable_synthetic()->set_samples(100);
  auto* squares = data.mutable_synthetic()->mutable_squares();
  squares->set_side(12);
  squares->set_classes(3);
  squares->set_noise(0.3);
  data.mutable_transforms()->mutable_random_crop()->set_padding(3);
  data.mutable_transforms()->mutable_flip()->set_probability(0.5);
  data.mutable_transforms()->set_scale(0.5);
  return data;
}

// Of 0 to 4 samples each; some are empty.
Share PlanOf(uint64_t n) {
  Share share{.epoch = n / 20, .samples = {}};
  for (uint64_t i = 0; i < n % 5; ++i)
    share.samples.push_back(static_cast<int64_t>((n * 7 + i) % 100));
  return share;
}

std::string BytesOf(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()};
}

class LoaderTest : public ::testing::Test {
 protected:
  // All bytes of all shares, one text a share.
  std::vector<std::string> Load(PrefetchOptions options, uint64_t seed = 1) {
    Loader loader(*dataset_, *Transforms::Create(data_.transforms(), dataset_->shape(), seed),
                  options, PlanOf);
    std::vector<std::string> shares;
    for (uint64_t n = 0; n < options.count; ++n) {
      const auto share = loader.Next();
      EXPECT_TRUE(share.ok()) << share.status();
      shares.push_back("none");
      if (!*share) continue;
      EXPECT_EQ((*share)->samples, PlanOf(n).samples);
      shares.back() = BytesOf((*share)->batch.inputs) + BytesOf((*share)->batch.targets);
    }
    EXPECT_TRUE(absl::IsOutOfRange(loader.Next().status()));
    return shares;
  }

  const v1::Data data_ = Squares();
  const std::unique_ptr<Dataset> dataset_ = OpenDataset(data_, 1).value();
  const Transforms transforms_ =
      Transforms::Create(data_.transforms(), dataset_->shape(), 1).value();
};

TEST_F(LoaderTest, ThreadsAndPrefetch_DoNotChangeABit) {
  const std::vector<std::string> alone = Load({0, 1, kShares});
  for (const uint32_t threads : {0, 1, 4}) {
    for (const uint32_t prefetch : {1, 8}) {
      EXPECT_EQ(Load({threads, prefetch, kShares}), alone) << threads << " and " << prefetch;
    }
  }
}

// The control of the test above: the bytes do depend on what is drawn.
TEST_F(LoaderTest, OtherSeedOfTransforms_ChangesBits) {
  EXPECT_NE(Load({1, 8, kShares}, 2), Load({1, 8, kShares}));
}

TEST_F(LoaderTest, EmptyShare_IsNone) {
  Loader loader(*dataset_, transforms_, {1, 1, 2}, PlanOf);
  EXPECT_FALSE(loader.Next()->has_value());
  EXPECT_TRUE(loader.Next()->has_value());
}

// Alone, in another company and in another share: always the same bytes.
TEST_F(LoaderTest, Augmentation_DependsOnTheSampleAndNotOnItsShare) {
  const auto inputs_of = [&](const Share& share, int64_t row) {
    return BytesOf((**LoadShare(*dataset_, transforms_, share)).inputs[row].contiguous().clone());
  };
  const std::string alone = inputs_of({2, {5}}, 0);
  EXPECT_EQ(inputs_of({2, {9, 5, 7}}, 1), alone);
  EXPECT_NE(inputs_of({3, {5}}, 0), alone);
}

TEST_F(LoaderTest, WithoutEpoch_PicturesAreOnlyScaled) {
  const at::Tensor plain = dataset_->MakeBatch({5, 6}).inputs;
  const auto measured = LoadShare(*dataset_, transforms_, {std::nullopt, {5, 6}});
  EXPECT_EQ(BytesOf((*measured)->inputs), BytesOf(plain.mul(0.5)));
}

TEST_F(LoaderTest, InfiniteNumber_IsAnErrorOfItsShare) {
  v1::Transforms spec;
  spec.set_scale(1e39);
  const auto too_large = Transforms::Create(spec, dataset_->shape(), 1).value();
  for (const uint32_t threads : {0, 2}) {
    Loader loader(*dataset_, too_large, {threads, 4, 2}, PlanOf);
    EXPECT_TRUE(loader.Next().ok());
    EXPECT_TRUE(absl::IsInvalidArgument(loader.Next().status()));
  }
}

// Throws, or waits, where another data set would copy.
class StubbornDataset : public Dataset {
 public:
  int64_t size() const override { return 100; }
  const SampleShape& shape() const override { return shape_; }
  const std::string& fingerprint() const override { return fingerprint_; }
  Batch MakeBatch(absl::Span<const int64_t> indices) const override {
    if (!begun_.HasBeenNotified()) begun_.Notify();
    may_end_.WaitForNotification();
    throw std::runtime_error("the disk is gone");
  }

  mutable absl::Notification begun_, may_end_;

 private:
  const SampleShape shape_ = {.inputs = {1}, .targets = {}};
  const std::string fingerprint_;
};

TEST(Loader, DatasetThatThrows_IsAStatusOfNext) {
  StubbornDataset dataset;
  dataset.may_end_.Notify();
  const auto none = Transforms::Create({}, dataset.shape(), 1).value();
  Loader loader(dataset, none, {1, 1, 2}, [](uint64_t) { return Share{0, {1}}; });
  EXPECT_TRUE(absl::IsInternal(loader.Next().status()));
}

TEST(Loader, DestructionBesideASlowDataset_DoesNotHang) {
  StubbornDataset dataset;
  const auto none = Transforms::Create({}, dataset.shape(), 1).value();
  {
    const Loader loader(dataset, none, {1, 8, 1000}, [](uint64_t) { return Share{0, {1}}; });
    dataset.begun_.WaitForNotification();
    dataset.may_end_.Notify();
  }
}

}  // namespace
}  // namespace tandem::data
