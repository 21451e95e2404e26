#include "worker/model/optimizer.h"

#include <cmath>
#include <string>

#include "ATen/Functions.h"
#include "ATen/TensorOperators.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/model/clip.h"
#include "worker/model/optimizer_state.h"

namespace tandem::model {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

v1::Optimizer AdamW() {
  v1::Optimizer spec;
  spec.mutable_adamw()->set_lr(0.1);
  spec.mutable_adamw()->set_beta1(0.9);
  spec.mutable_adamw()->set_beta2(0.999);
  spec.mutable_adamw()->set_eps(1e-8);
  spec.mutable_adamw()->set_weight_decay(0.01);
  return spec;
}

v1::Optimizer Adam() {
  v1::Optimizer spec;
  spec.mutable_adam()->set_lr(0.1);
  spec.mutable_adam()->set_beta1(0.9);
  spec.mutable_adam()->set_beta2(0.999);
  spec.mutable_adam()->set_eps(1e-8);
  spec.mutable_adam()->set_weight_decay(0.01);
  return spec;
}

v1::Optimizer Sgd() {
  v1::Optimizer spec;
  spec.mutable_sgd()->set_lr(0.1);
  spec.mutable_sgd()->set_momentum(0.9);
  spec.mutable_sgd()->set_weight_decay(0.01);
  return spec;
}

// Of ones.
std::vector<ddp::NamedTensor> TwoParameters() {
  return {{"a.weight", at::ones({2, 3}).requires_grad_()}, {"b", at::ones({3}).requires_grad_()}};
}

// CASES 30: an unused parameter stays what it was, where zeros would have decayed it.
TEST(Optimizer, AbsentGradient_LeavesTheParameterAlone) {
  for (const v1::Optimizer& spec : {AdamW(), Adam(), Sgd()}) {
    const std::vector<ddp::NamedTensor> parameters = TwoParameters();
    const auto optimizer = CreateOptimizer(spec, parameters);
    parameters[1].tensor.mutable_grad() = at::zeros({3});
    optimizer->step();
    EXPECT_TRUE(at::equal(parameters[0].tensor, at::ones({2, 3})));
    EXPECT_FALSE(at::equal(parameters[1].tensor, at::ones({3}))) << "the control: zeros do decay";
  }
}

TEST(Optimizer, LearningRate_IsThatOfTheSpecUntilSet) {
  for (const v1::Optimizer& spec : {AdamW(), Adam(), Sgd()}) {
    const std::vector<ddp::NamedTensor> parameters = TwoParameters();
    const auto optimizer = CreateOptimizer(spec, parameters);
    EXPECT_EQ(optimizer->param_groups()[0].options().get_lr(), 0.1);
    SetLearningRate(*optimizer, 0.5);
    EXPECT_EQ(optimizer->param_groups()[0].options().get_lr(), 0.5);
  }
}

// A gradient for each parameter but the last, which is never used.
void TakeStep(int step, const std::vector<ddp::NamedTensor>& parameters,
              torch::optim::Optimizer& optimizer) {
  for (size_t i = 0; i + 1 < parameters.size(); ++i) {
    const at::Tensor& tensor = parameters[i].tensor;
    tensor.mutable_grad() = at::linspace(-1, 2, tensor.numel()).reshape(tensor.sizes()) * step;
  }
  SetLearningRate(optimizer, 0.1 / step);
  optimizer.step();
}

std::vector<std::string> NamesOf(const std::vector<ddp::NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const ddp::NamedTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

std::vector<ddp::NamedTensor> CopyOf(const std::vector<ddp::NamedTensor>& tensors) {
  std::vector<ddp::NamedTensor> copies;
  for (const auto& [name, tensor] : tensors) {
    copies.push_back({name, tensor.detach().clone().requires_grad_(tensor.requires_grad())});
  }
  return copies;
}

TEST(OptimizerState, Names_AreThoseOfParametersThatHaveMoved) {
  const auto names_after_one_step = [](const v1::Optimizer& spec) {
    const std::vector<ddp::NamedTensor> parameters = TwoParameters();
    const auto optimizer = CreateOptimizer(spec, parameters);
    EXPECT_TRUE(OptimizerState(*optimizer, parameters).empty());
    TakeStep(1, parameters, *optimizer);
    return NamesOf(OptimizerState(*optimizer, parameters));
  };
  for (const v1::Optimizer& spec : {AdamW(), Adam()}) {
    EXPECT_THAT(names_after_one_step(spec),
                ElementsAre("optimizer.a.weight.step", "optimizer.a.weight.exp_avg",
                            "optimizer.a.weight.exp_avg_sq"));
  }
  EXPECT_THAT(names_after_one_step(Sgd()), ElementsAre("optimizer.a.weight.momentum_buffer"));
  v1::Optimizer plain = Sgd();
  plain.mutable_sgd()->set_momentum(0);
  EXPECT_THAT(names_after_one_step(plain), ElementsAre());
}

TEST(OptimizerState, LoadedIntoAFreshOptimizer_GoesOnWithTheSameBits) {
  for (const v1::Optimizer& spec : {AdamW(), Adam(), Sgd()}) {
    const std::vector<ddp::NamedTensor> parameters = TwoParameters();
    const auto optimizer = CreateOptimizer(spec, parameters);
    for (int step = 1; step <= 3; ++step) TakeStep(step, parameters, *optimizer);
    const std::vector<ddp::NamedTensor> saved = CopyOf(OptimizerState(*optimizer, parameters));
    const std::vector<ddp::NamedTensor> resumed = CopyOf(parameters),
                                        forgetful = CopyOf(parameters);
    const auto loaded = CreateOptimizer(spec, resumed), fresh = CreateOptimizer(spec, forgetful);
    ASSERT_EQ(LoadOptimizerState(saved, resumed, *loaded), absl::OkStatus());
    for (int step = 4; step <= 6; ++step) {
      TakeStep(step, parameters, *optimizer);
      TakeStep(step, resumed, *loaded);
      TakeStep(step, forgetful, *fresh);
    }
    EXPECT_TRUE(at::equal(resumed[0].tensor, parameters[0].tensor));
    EXPECT_TRUE(at::equal(resumed[1].tensor, at::ones({3})));
    EXPECT_FALSE(at::equal(forgetful[0].tensor, parameters[0].tensor)) << "the control";
  }
}

TEST(LoadOptimizerState, WhatDoesNotFit_IsNamedAndChangesNothing) {
  const std::vector<ddp::NamedTensor> parameters = TwoParameters();
  const auto optimizer = CreateOptimizer(AdamW(), parameters);
  TakeStep(1, parameters, *optimizer);
  const std::vector<ddp::NamedTensor> good = CopyOf(OptimizerState(*optimizer, parameters));
  const auto refusal = [&](const std::vector<ddp::NamedTensor>& state) {
    const absl::Status status = LoadOptimizerState(state, parameters, *optimizer);
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_EQ(OptimizerState(*optimizer, parameters).size(), 3u);
    return std::string(status.message());
  };
  EXPECT_THAT(refusal({good[0], good[1]}), StartsWith("optimizer.a.weight.exp_avg_sq: "));
  EXPECT_THAT(refusal({good[0], good[1], {good[2].name, at::ones({3})}}),
              StartsWith("optimizer.a.weight.exp_avg_sq: "));
  EXPECT_THAT(refusal({good[0], good[1], good[2], {"optimizer.c.step", at::ones({})}}),
              StartsWith("optimizer.c.step: "));
  EXPECT_EQ(LoadOptimizerState({}, parameters, *optimizer), absl::OkStatus());
  EXPECT_TRUE(OptimizerState(*optimizer, parameters).empty());
}

// CASES 17: the mean (5, 0.25) is clipped; clipping each rank first would give (0.5, 0.25).
TEST(ClipByNorm, LongGradient_IsScaledToTheNorm) {
  const std::vector<ddp::NamedTensor> parameters = {
      {"a", at::zeros({1})}, {"unused", at::zeros({4})}, {"b", at::zeros({1})}};
  parameters[0].tensor.mutable_grad() = at::full({1}, 5.0f);
  parameters[2].tensor.mutable_grad() = at::full({1}, 0.25f);
  EXPECT_DOUBLE_EQ(ClipByNorm(parameters, 1), std::hypot(5, 0.25));
  EXPECT_NEAR(parameters[0].tensor.grad().item<float>(), 0.9988, 5e-5);
  EXPECT_NEAR(parameters[2].tensor.grad().item<float>(), 0.0499, 5e-5);
  EXPECT_FALSE(parameters[1].tensor.grad().defined());
}

TEST(ClipByNorm, ShortGradient_KeepsItsBits) {
  const std::vector<ddp::NamedTensor> parameters = {{"a", at::zeros({2})}};
  parameters[0].tensor.mutable_grad() = at::tensor({0.1f, 0.2f});
  EXPECT_NEAR(ClipByNorm(parameters, 1), std::hypot(0.1, 0.2), 1e-7);
  EXPECT_TRUE(at::equal(parameters[0].tensor.grad(), at::tensor({0.1f, 0.2f})));
}

TEST(ClipByNorm, ManySmallNumbers_AreAddedInDouble) {
  const std::vector<ddp::NamedTensor> parameters = {{"a", at::zeros({1 << 20})}};
  parameters[0].tensor.mutable_grad() = at::full({1 << 20}, 3.0f);
  EXPECT_EQ(ClipByNorm(parameters, 1e9), 3 * 1024.0);
}

}  // namespace
}  // namespace tandem::model
