#include "worker/model/gpt.h"

#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/TensorOperators.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/model/model.h"
#include "worker/model/seed.h"

namespace tandem::model {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

constexpr int64_t kTokens = 5, kVocabulary = 7, kWidth = 8, kHeads = 2, kLayers = 2;
const data::SampleShape kText = {
    .inputs = {kTokens}, .vocabulary = kVocabulary, .targets = {kTokens}, .classes = kVocabulary};

v1::JobSpec SmallGpt(bool tie_weights = true) {
  v1::JobSpec spec;
  v1::Gpt& gpt = *spec.mutable_model()->mutable_gpt();
  gpt.set_layers(kLayers);
  gpt.set_heads(kHeads);
  gpt.set_width(kWidth);
  gpt.set_tie_weights(tie_weights);
  return spec;
}

std::unique_ptr<Network> MakeNetwork(bool tie_weights = true) {
  SeedDefaultGenerator(3);
  return *CreateGpt(SmallGpt(tie_weights).model().gpt(), kText);
}

at::Tensor TwoSamples() {
  return (at::arange(2 * kTokens) * 3 % kVocabulary).reshape({2, kTokens});
}

// The formula of gpt.h, one position and one head after the other, in double.
class Definition {
 public:
  explicit Definition(const Network& network) {
    for (const auto& parameter : network.Parameters()) {
      tensors_[parameter.name] = parameter.tensor.detach().to(at::kDouble);
    }
  }

  // Of one sample: tokens x vocabulary.
  at::Tensor Scores(const at::Tensor& tokens) const {
    at::Tensor x = at::index_select(Of("wte.weight"), 0, tokens) + Of("wpe.weight");
    for (int64_t i = 0; i < kLayers; ++i) {
      const std::string block = "h." + std::to_string(i) + ".";
      x = x + Linear(Attention(Linear(Norm(x, block + "ln_1"), block + "attn.c_attn")),
                     block + "attn.c_proj");
      x = x +
          Linear(Gelu(Linear(Norm(x, block + "ln_2"), block + "mlp.c_fc")), block + "mlp.c_proj");
    }
    const auto head = tensors_.find("lm_head.weight");
    return at::matmul(Norm(x, "ln_f"),
                      (head == tensors_.end() ? Of("wte.weight") : head->second).t());
  }

 private:
  const at::Tensor& Of(const std::string& name) const { return tensors_.at("transformer." + name); }
  at::Tensor Linear(const at::Tensor& x, const std::string& name) const {
    return at::matmul(x, Of(name + ".weight").t()) + Of(name + ".bias");
  }
  at::Tensor Norm(const at::Tensor& x, const std::string& name) const {
    const at::Tensor centered = x - x.mean(-1, true);
    const at::Tensor variance = centered.square().mean(-1, true);
    return centered / (variance + 1e-5).sqrt() * Of(name + ".weight") + Of(name + ".bias");
  }
  static at::Tensor Gelu(const at::Tensor& x) {
    return x / 2 * (1 + ((x + x.pow(3) * 0.044715) * std::sqrt(2 / std::numbers::pi)).tanh());
  }
  static at::Tensor Attention(const at::Tensor& qkv) {
    constexpr int64_t kSize = kWidth / kHeads;
    at::Tensor mixed = at::zeros({kTokens, kWidth}, at::kDouble);
    for (int64_t h = 0; h < kHeads; ++h) {
      const at::Tensor q = qkv.narrow(1, h * kSize, kSize);
      const at::Tensor k = qkv.narrow(1, kWidth + h * kSize, kSize);
      const at::Tensor v = qkv.narrow(1, 2 * kWidth + h * kSize, kSize);
      for (int64_t t = 0; t < kTokens; ++t) {
        const at::Tensor weights =
            (at::mv(k.narrow(0, 0, t + 1), q[t]) / std::sqrt(double{kSize})).exp();
        mixed[t]
            .narrow(0, h * kSize, kSize)
            .copy_(at::mv(v.narrow(0, 0, t + 1).t(), weights / weights.sum()));
      }
    }
    return mixed;
  }

  std::map<std::string, at::Tensor> tensors_;
};

// Moves everything off the values at which a mistake could hide: biases of 0 and weights of 1.
void Perturb(const Network& network) {
  for (const auto& parameter : network.Parameters()) {
    const at::Tensor tensor = parameter.tensor.detach();
    tensor.add_(at::randn_like(tensor), 0.3);
  }
}

TEST(Gpt, Parameters_AreNamedAsInPythonAndATiedWeightComesOnce) {
  std::vector<std::string> first_block;
  for (const auto& parameter : MakeNetwork()->Parameters()) {
    if (parameter.name.find(".h.1.") == std::string::npos) first_block.push_back(parameter.name);
  }
  EXPECT_THAT(first_block,
              ElementsAre("transformer.wte.weight", "transformer.wpe.weight",
                          "transformer.h.0.ln_1.weight", "transformer.h.0.ln_1.bias",
                          "transformer.h.0.attn.c_attn.weight", "transformer.h.0.attn.c_attn.bias",
                          "transformer.h.0.attn.c_proj.weight", "transformer.h.0.attn.c_proj.bias",
                          "transformer.h.0.ln_2.weight", "transformer.h.0.ln_2.bias",
                          "transformer.h.0.mlp.c_fc.weight", "transformer.h.0.mlp.c_fc.bias",
                          "transformer.h.0.mlp.c_proj.weight", "transformer.h.0.mlp.c_proj.bias",
                          "transformer.ln_f.weight", "transformer.ln_f.bias"));
  EXPECT_EQ(MakeNetwork(false)->Parameters().back().name, "lm_head.weight");
}

TEST(Gpt, Scores_AreThoseOfTheFormula) {
  for (const bool tie_weights : {true, false}) {
    const auto network = MakeNetwork(tie_weights);
    Perturb(*network);
    const at::Tensor scores = network->Forward(TwoSamples());
    const Definition definition(*network);
    for (int64_t i = 0; i < 2; ++i) {
      const at::Tensor expected = definition.Scores(TwoSamples()[i]);
      EXPECT_LT((scores[i] - expected).abs().max().item<double>(),
                1e-5 * expected.abs().max().item<double>());
    }
  }
}

TEST(Gpt, LaterToken_DoesNotReachEarlierScores) {
  const auto network = MakeNetwork();
  const at::Tensor inputs = TwoSamples();
  const at::Tensor before = network->Forward(inputs);
  inputs.select(1, 3).fill_(6);
  const at::Tensor after = network->Forward(inputs);
  EXPECT_TRUE(at::equal(before.narrow(1, 0, 3), after.narrow(1, 0, 3)));
  EXPECT_FALSE(at::equal(before.select(1, 4), after.select(1, 4))) << "the control";
}

TEST(Gpt, InitialWeights_AreNormalWithSmallerOutputProjections) {
  v1::JobSpec spec = SmallGpt();
  spec.mutable_model()->mutable_gpt()->set_width(64);
  const auto model = *CreateModel(spec, kText);
  for (const auto& [name, tensor] : model->Parameters()) {
    if (tensor.dim() < 2) {
      const double expected = name.find("ln_") != std::string::npos && name.ends_with("weight");
      EXPECT_TRUE(at::equal(tensor, at::full_like(tensor, expected))) << name;
      continue;
    }
    const double expected = name.ends_with("c_proj.weight") ? 0.02 / std::sqrt(2. * kLayers) : 0.02;
    EXPECT_NEAR(tensor.std().item<double>(), expected, 0.15 * expected) << name;
  }
}

TEST(Gpt, Dropout_FollowsTheSeed) {
  v1::JobSpec spec = SmallGpt();
  spec.mutable_model()->mutable_gpt()->set_dropout(0.5);
  const auto model = *CreateModel(spec, kText);
  const auto loss = [&](uint64_t seed) {
    SeedDefaultGenerator(seed);
    return model->Forward({TwoSamples(), TwoSamples()}).loss_sum.item<float>();
  };
  EXPECT_EQ(loss(1), loss(1));
  EXPECT_NE(loss(1), loss(2));
  model->SetTraining(false);
  EXPECT_EQ(loss(1), loss(2));
}

TEST(Gpt, Loss_IsCountedByToken) {
  const auto model = *CreateModel(SmallGpt(), kText);
  at::Tensor targets = TwoSamples();
  targets[0][0] = data::kIgnoredTarget;
  const Outcome outcome = model->Forward({TwoSamples(), targets});
  EXPECT_EQ(outcome.count, 2 * kTokens - 1u);
}

TEST(Gpt, DataThatDoesNotFit_IsRefusedByKey) {
  const auto refusal = [](const data::SampleShape& shape, bool tie_weights) {
    const absl::Status status = CreateModel(SmallGpt(tie_weights), shape).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  EXPECT_THAT(refusal({.inputs = {64}, .targets = {}, .classes = 4}, true),
              StartsWith("model.gpt: "));
  EXPECT_THAT(refusal({.inputs = {5}, .vocabulary = 7, .targets = {}, .classes = 7}, true),
              StartsWith("model.gpt: "));
  const data::SampleShape other_classes = {
      .inputs = {5}, .vocabulary = 7, .targets = {5}, .classes = 3};
  EXPECT_THAT(refusal(other_classes, true), StartsWith("model.gpt.tie_weights: "));
  EXPECT_TRUE(CreateModel(SmallGpt(false), other_classes).ok());
}

}  // namespace
}  // namespace tandem::model
