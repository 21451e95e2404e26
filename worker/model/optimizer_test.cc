#include "worker/model/optimizer.h"

#include "ATen/Functions.h"
#include "gtest/gtest.h"

namespace tandem::model {
namespace {

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
    EXPECT_EQ(LearningRate(spec), 0.1);
    EXPECT_EQ(optimizer->param_groups()[0].options().get_lr(), 0.1);
    SetLearningRate(*optimizer, 0.5);
    EXPECT_EQ(optimizer->param_groups()[0].options().get_lr(), 0.5);
  }
}

}  // namespace
}  // namespace tandem::model
