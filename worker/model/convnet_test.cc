#include "worker/model/convnet.h"

#include <string>
#include <vector>

#include "ATen/Functions.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/model/model.h"

namespace tandem::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const data::SampleShape kGrey = {.inputs = {8, 8}, .targets = {}, .classes = 4};
const data::SampleShape kColor = {.inputs = {3, 8, 8}, .targets = {}, .classes = 4};

v1::JobSpec TwoConvolutions() {
  v1::JobSpec spec;
  v1::Convnet& convnet = *spec.mutable_model()->mutable_convnet();
  convnet.add_channels(4);
  convnet.add_channels(6);
  convnet.set_kernel(3);
  convnet.set_pool(2);
  convnet.set_batch_norm(true);
  return spec;
}

std::vector<std::string> NamesOf(const std::vector<ddp::NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const ddp::NamedTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

std::string Refusal(const v1::JobSpec& spec, const data::SampleShape& shape) {
  const absl::Status status = CreateModel(spec, shape).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

TEST(Convnet, Tensors_AreNamedAsInPython) {
  const auto model = *CreateModel(TwoConvolutions(), kGrey);
  EXPECT_THAT(NamesOf(model->Parameters()),
              ElementsAre("convs.0.weight", "convs.0.bias", "convs.1.weight", "convs.1.bias",
                          "norms.0.weight", "norms.0.bias", "norms.1.weight", "norms.1.bias",
                          "head.weight", "head.bias"));
  EXPECT_THAT(
      NamesOf(model->Buffers()),
      ElementsAre("norms.0.running_mean", "norms.0.running_var", "norms.0.num_batches_tracked",
                  "norms.1.running_mean", "norms.1.running_var", "norms.1.num_batches_tracked"));
  EXPECT_THAT(model->Parameters()[8].tensor.sizes(), ElementsAre(4, 6 * 2 * 2));
}

TEST(Convnet, WithoutBatchNorm_HasNoBuffersAndNoSegments) {
  v1::JobSpec spec = TwoConvolutions();
  spec.mutable_model()->mutable_convnet()->set_batch_norm(false);
  const auto model = *CreateModel(spec, kGrey);
  EXPECT_THAT(model->Buffers(), IsEmpty());
  EXPECT_EQ(model->segmented(), nullptr);
}

TEST(Convnet, GreyAndColor_AreTrainedInEveryParameter) {
  for (const data::SampleShape& shape : {kGrey, kColor}) {
    const auto model = *CreateModel(TwoConvolutions(), shape);
    std::vector<int64_t> sizes = shape.inputs;
    sizes.insert(sizes.begin(), 5);
    const Outcome outcome = model->Forward({at::rand(sizes), at::ones({5}, at::kLong)});
    EXPECT_EQ(outcome.count, 5u);
    outcome.loss_sum.backward();
    for (const ddp::NamedTensor& parameter : model->Parameters()) {
      EXPECT_TRUE(parameter.tensor.grad().defined()) << parameter.name;
    }
  }
}

TEST(Convnet, Evaluation_LooksAtNoOtherSampleAndMovesNoBuffer) {
  const auto model = *CreateModel(TwoConvolutions(), kGrey);
  model->SetTraining(false);
  const data::Batch both = {at::rand({2, 8, 8}), at::ones({2}, at::kLong)};
  const auto one = [&both](int64_t i) {
    return data::Batch{both.inputs.narrow(0, i, 1), both.targets.narrow(0, i, 1)};
  };
  EXPECT_NEAR(model->Forward(both).loss_sum.item<double>(),
              model->Forward(one(0)).loss_sum.item<double>() +
                  model->Forward(one(1)).loss_sum.item<double>(),
              1e-5);
  EXPECT_EQ(model->Buffers()[2].tensor.item<int64_t>(), 0);
}

TEST(Convnet, OtherThanPictures_AreRefusedByKey) {
  const data::SampleShape row = {.inputs = {64}, .targets = {}, .classes = 4};
  EXPECT_THAT(Refusal(TwoConvolutions(), row), StartsWith("model.convnet: "));
  const data::SampleShape tokens = {.inputs = {8, 8}, .vocabulary = 9, .targets = {}, .classes = 4};
  EXPECT_THAT(Refusal(TwoConvolutions(), tokens), StartsWith("model.convnet: "));
}

TEST(Convnet, PoolLargerThanThePicture_IsRefusedByKeyWithTheConvolution) {
  v1::JobSpec spec = TwoConvolutions();
  spec.mutable_model()->mutable_convnet()->set_pool(4);
  const data::SampleShape small = {.inputs = {8, 12}, .targets = {}, .classes = 4};
  EXPECT_THAT(Refusal(spec, small), StartsWith("model.convnet.pool: "));
  EXPECT_THAT(Refusal(spec, small), HasSubstr("2 x 3 that convolution 2 of 2"));
}

TEST(Convnet, OneValueInEachChannel_Throws) {
  v1::JobSpec spec = TwoConvolutions();
  spec.mutable_model()->mutable_convnet()->set_pool(1);
  const auto model = *CreateModel(spec, {.inputs = {1, 1}, .targets = {}, .classes = 4});
  EXPECT_ANY_THROW(model->Forward({at::ones({1, 1, 1}), at::ones({1}, at::kLong)}));
}

}  // namespace
}  // namespace tandem::model
