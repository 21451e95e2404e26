#include "worker/model/precision.h"

#include <utility>
#include <vector>

#include "ATen/Functions.h"
#include "gtest/gtest.h"
#include "worker/model/model.h"

namespace tandem::model {
namespace {

at::ScalarType TypeOfProduct() {
  return at::matmul(at::ones({2, 2}), at::ones({2, 2})).scalar_type();
}

TEST(PrecisionGuard, Products_AreInItsPrecisionWhileItLives) {
  for (const auto& [precision, type] :
       std::vector<std::pair<v1::Precision, at::ScalarType>>{{v1::PRECISION_FP32, at::kFloat},
                                                             {v1::PRECISION_BF16, at::kBFloat16},
                                                             {v1::PRECISION_FP16, at::kHalf}}) {
    {
      const PrecisionGuard guard(precision, at::kCPU);
      EXPECT_EQ(TypeOfProduct(), type);
    }
    EXPECT_EQ(TypeOfProduct(), at::kFloat);
  }
}

TEST(Precision, Bf16_ChangesTheLossALittleAndKeepsGradientsInFp32) {
  const auto loss = [](v1::Precision precision) {
    v1::JobSpec spec;
    spec.set_seed(7);
    spec.set_precision(precision);
    spec.mutable_model()->mutable_mlp()->add_hidden(16);
    const auto model = *CreateModel(spec, {.inputs = {4}, .targets = {}, .classes = 3});
    const Outcome outcome =
        model->Forward({at::linspace(0, 1, 32).reshape({8, 4}), at::ones({8}, at::kLong)});
    EXPECT_EQ(outcome.loss_sum.scalar_type(), at::kFloat);
    outcome.loss_sum.backward();
    for (const auto& parameter : model->Parameters()) {
      EXPECT_EQ(parameter.tensor.grad().scalar_type(), at::kFloat) << parameter.name;
    }
    return outcome.loss_sum.item<double>();
  };
  const double exact = loss(v1::PRECISION_FP32);
  for (const v1::Precision precision : {v1::PRECISION_BF16, v1::PRECISION_FP16}) {
    EXPECT_NE(loss(precision), exact);
    EXPECT_NEAR(loss(precision), exact, 0.02 * exact);
    EXPECT_EQ(loss(precision), loss(precision));
  }
}

struct Trained {
  v1::Model spec;
  data::SampleShape shape;
  data::Batch batch;
};

Trained SmallConvnet() {
  Trained convnet = {.spec = {},
                     .shape = {.inputs = {8, 8}, .targets = {}, .classes = 4},
                     .batch = {at::linspace(-1, 1, 192).reshape({3, 8, 8}), at::arange(3)}};
  convnet.spec.mutable_convnet()->add_channels(4);
  convnet.spec.mutable_convnet()->set_kernel(3);
  convnet.spec.mutable_convnet()->set_pool(2);
  convnet.spec.mutable_convnet()->set_batch_norm(true);
  return convnet;
}

Trained SmallGpt() {
  const at::Tensor tokens = at::arange(10).reshape({2, 5});
  Trained gpt = {.spec = {},
                 .shape = {.inputs = {5}, .vocabulary = 10, .targets = {5}, .classes = 10},
                 .batch = {tokens, tokens}};
  gpt.spec.mutable_gpt()->set_layers(1);
  gpt.spec.mutable_gpt()->set_heads(2);
  gpt.spec.mutable_gpt()->set_width(8);
  gpt.spec.mutable_gpt()->set_tie_weights(true);
  gpt.spec.mutable_gpt()->set_dropout(0.1);
  return gpt;
}

TEST(Precision, EveryModel_HasFiniteGradientsInEveryPrecision) {
  for (const Trained& trained : {SmallConvnet(), SmallGpt()}) {
    for (const v1::Precision precision : {v1::PRECISION_BF16, v1::PRECISION_FP16}) {
      v1::JobSpec spec;
      *spec.mutable_model() = trained.spec;
      spec.set_precision(precision);
      const auto model = *CreateModel(spec, trained.shape);
      model->Forward(trained.batch).loss_sum.backward();
      for (const auto& [name, parameter] : model->Parameters()) {
        ASSERT_TRUE(parameter.grad().defined()) << name;
        EXPECT_TRUE(at::isfinite(parameter.grad()).all().item<bool>()) << name;
      }
    }
  }
}

// CASES 31: everybody skips and halves together, since the flag is OR-ed over logical ranks.
TEST(LossScaler, GradientThatIsNotFinite_HalvesTheScale) {
  LossScaler scaler;
  EXPECT_EQ(scaler.scale(), 65536);
  scaler.Update(/*finite=*/false);
  EXPECT_EQ(scaler.scale(), 32768);
}

TEST(LossScaler, EnoughGoodStepsInARow_DoubleTheScale) {
  LossScaler scaler;
  for (uint64_t i = 0; i + 1 < LossScaler::kGoodStepsToGrow; ++i) scaler.Update(true);
  EXPECT_EQ(scaler.scale(), 65536);
  scaler.Update(true);
  EXPECT_EQ(scaler.scale(), 131072);
  scaler.Update(true);
  EXPECT_EQ(scaler.state().good_steps, 1u);
  scaler.Update(false);
  EXPECT_EQ(scaler.state(), (LossScaler::State{65536, 0}));
}

TEST(LossScaler, RestoredState_GoesOn) {
  LossScaler scaler(LossScaler::State{.scale = 8, .good_steps = 1999});
  scaler.Update(true);
  EXPECT_EQ(scaler.state(), (LossScaler::State{16, 0}));
}

}  // namespace
}  // namespace tandem::model
