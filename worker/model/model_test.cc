#include "worker/model/model.h"

#include <string>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/TensorOperators.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/model/seed.h"

namespace tandem::model {
namespace {

using ::testing::ElementsAre;

const data::SampleShape kShape = {.inputs = {4}, .targets = {}, .classes = 3};

v1::JobSpec SpecWithDropout(double dropout) {
  v1::JobSpec spec;
  spec.set_seed(7);
  v1::Mlp& mlp = *spec.mutable_model()->mutable_mlp();
  mlp.add_hidden(16);
  mlp.set_activation(v1::ACTIVATION_RELU);
  mlp.set_dropout(dropout);
  return spec;
}

std::unique_ptr<Model> MakeModel(const v1::JobSpec& spec) { return *CreateModel(spec, kShape); }

std::vector<std::string> NamesOf(const Model& model) {
  std::vector<std::string> names;
  for (const ddp::NamedTensor& parameter : model.Parameters()) names.push_back(parameter.name);
  return names;
}

data::Batch EightSamples() {
  return {at::arange(32, at::kFloat).reshape({8, 4}) / 10, at::arange(8, at::kLong) % 3};
}

TEST(Mlp, Parameters_AreNamedAsInAPythonModuleList) {
  EXPECT_THAT(NamesOf(*MakeModel(SpecWithDropout(0))),
              ElementsAre("layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"));
}

TEST(Mlp, NoHiddenLayer_IsALinearModel) {
  v1::JobSpec spec = SpecWithDropout(0);
  spec.mutable_model()->mutable_mlp()->clear_hidden();
  EXPECT_THAT(NamesOf(*MakeModel(spec)), ElementsAre("layers.0.weight", "layers.0.bias"));
}

TEST(Mlp, InitialWeights_AreAFunctionOfTheSeed) {
  v1::JobSpec spec = SpecWithDropout(0);
  const at::Tensor first = MakeModel(spec)->Parameters()[0].tensor;
  at::rand({5});
  EXPECT_TRUE(at::equal(first, MakeModel(spec)->Parameters()[0].tensor));
  spec.set_seed(8);
  EXPECT_FALSE(at::equal(first, MakeModel(spec)->Parameters()[0].tensor));
}

// torch.manual_seed(7); a = torch.nn.Linear(4, 16); b = torch.nn.Linear(16, 3)
// a.weight[0, 0].item(); b.bias[2].item()
TEST(Mlp, InitialWeights_AreThoseOfPython) {
  const std::vector<ddp::NamedTensor> parameters = MakeModel(SpecWithDropout(0))->Parameters();
  EXPECT_EQ(parameters[0].tensor[0][0].item<float>(), 0.03492254018783569f);
  EXPECT_EQ(parameters[3].tensor[2].item<float>(), -0.154588461f);
}

TEST(Mlp, TooLarge_IsRefusedByKey) {
  v1::JobSpec spec = SpecWithDropout(0);
  v1::Mlp& mlp = *spec.mutable_model()->mutable_mlp();
  mlp.clear_hidden();
  for (int i = 0; i < 2; ++i) mlp.add_hidden(1u << 31);
  const absl::Status status = CreateModel(spec, kShape).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("model: "));
}

TEST(Mlp, Dropout_DrawsFromTheSeededGeneratorInTrainingOnly) {
  const std::unique_ptr<Model> model = MakeModel(SpecWithDropout(0.5));
  const auto loss = [&](uint64_t seed) {
    SeedDefaultGenerator(seed);
    return model->Forward(EightSamples()).loss_sum.item<float>();
  };
  EXPECT_EQ(loss(1), loss(1));
  EXPECT_NE(loss(1), loss(2));
  model->SetTraining(false);
  EXPECT_EQ(loss(1), loss(2));
}

TEST(Mlp, Tokens_AreRefusedByKey) {
  const data::SampleShape tokens = {.inputs = {8}, .vocabulary = 5, .targets = {8}, .classes = 5};
  const absl::Status status = CreateModel(SpecWithDropout(0), tokens).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("model.mlp: "));
}

TEST(Mlp, PictureToThreeNumbers_FitsItsLoss) {
  const auto model = CreateModel(SpecWithDropout(0), {.inputs = {2, 4}, .targets = {3}});
  ASSERT_TRUE(model.ok());
  const Outcome outcome = (*model)->Forward({at::ones({5, 2, 4}), at::zeros({5, 3})});
  EXPECT_EQ(outcome.count, 5u);
  (*model)->SetTraining(false);
  EXPECT_FALSE((*model)->Forward({at::ones({5, 2, 4}), at::zeros({5, 3})}).correct.defined());
}

TEST(Mlp, OneNumber_FitsItsLoss) {
  const auto model = CreateModel(SpecWithDropout(0), {.inputs = {4}, .targets = {}});
  ASSERT_TRUE(model.ok());
  EXPECT_EQ((*model)->Forward({at::ones({5, 4}), at::zeros({5})}).count, 5u);
}

TEST(Mlp, Loss_IsTheSumOverSamples) {
  const std::unique_ptr<Model> model = MakeModel(SpecWithDropout(0));
  const data::Batch all = EightSamples();
  const data::Batch first = {all.inputs.narrow(0, 0, 5), all.targets.narrow(0, 0, 5)};
  const data::Batch rest = {all.inputs.narrow(0, 5, 3), all.targets.narrow(0, 5, 3)};
  EXPECT_EQ(model->Forward(all).count, 8u);
  EXPECT_NEAR(
      model->Forward(all).loss_sum.item<float>(),
      model->Forward(first).loss_sum.item<float>() + model->Forward(rest).loss_sum.item<float>(),
      1e-5);
}

TEST(Mlp, Correct_IsCountedInEvaluationOnly) {
  const std::unique_ptr<Model> model = MakeModel(SpecWithDropout(0));
  EXPECT_FALSE(model->Forward(EightSamples()).correct.defined());
  model->SetTraining(false);
  const int64_t correct = model->Forward(EightSamples()).correct.item<int64_t>();
  EXPECT_GE(correct, 0);
  EXPECT_LE(correct, 8);
}

}  // namespace
}  // namespace tandem::model
