#include "worker/model/gpt.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ATen/Functions.h"
#include "ATen/TensorOperators.h"
#include "ATen/core/grad_mode.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "torch/nn/modules/container/modulelist.h"
#include "torch/nn/modules/embedding.h"
#include "torch/nn/modules/linear.h"
#include "torch/nn/modules/normalization.h"
#include "worker/model/dropout.h"
#include "worker/model/module_network.h"

namespace tandem::model {
namespace {

torch::nn::LayerNorm MakeLayerNorm(int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

class Attention final : public torch::nn::Module {
 public:
  explicit Attention(const v1::Gpt& spec)
      : heads_(spec.heads()),
        dropout_(spec.dropout()),
        c_attn_(register_module("c_attn", torch::nn::Linear(spec.width(), 3 * spec.width()))),
        c_proj_(register_module("c_proj", torch::nn::Linear(spec.width(), spec.width()))) {}

  // samples x T x width. `future`: T x T, true where a position must not look.
  at::Tensor Forward(const at::Tensor& values, const at::Tensor& future) {
    const std::vector<at::Tensor> parts = c_attn_->forward(values).chunk(3, -1);
    const at::Tensor query = Heads(parts[0]), key = Heads(parts[1]), value = Heads(parts[2]);
    const at::Tensor scores =
        at::matmul(query, key.transpose(-2, -1)) / std::sqrt(static_cast<double>(query.size(-1)));
    const at::Tensor hidden = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
    const at::Tensor attention = Dropout(at::softmax(hidden, -1), dropout_, is_training());
    const at::Tensor mixed = at::matmul(attention, value).transpose(1, 2).flatten(2);
    return Dropout(c_proj_->forward(mixed), dropout_, is_training());
  }

 private:
  // samples x heads x T x width / heads
  at::Tensor Heads(const at::Tensor& values) const {
    return values.unflatten(-1, {heads_, -1}).transpose(1, 2);
  }

  const int64_t heads_;
  const double dropout_;
  torch::nn::Linear c_attn_, c_proj_;
};

class FeedForward final : public torch::nn::Module {
 public:
  explicit FeedForward(const v1::Gpt& spec)
      : dropout_(spec.dropout()),
        c_fc_(register_module("c_fc", torch::nn::Linear(spec.width(), 4 * spec.width()))),
        c_proj_(register_module("c_proj", torch::nn::Linear(4 * spec.width(), spec.width()))) {}

  at::Tensor Forward(const at::Tensor& values) {
    const at::Tensor hidden = at::gelu(c_fc_->forward(values), "tanh");
    return Dropout(c_proj_->forward(hidden), dropout_, is_training());
  }

 private:
  const double dropout_;
  torch::nn::Linear c_fc_, c_proj_;
};

class Block final : public torch::nn::Module {
 public:
  explicit Block(const v1::Gpt& spec)
      : ln_1_(register_module("ln_1", MakeLayerNorm(spec.width()))),
        attn_(register_module("attn", std::make_shared<Attention>(spec))),
        ln_2_(register_module("ln_2", MakeLayerNorm(spec.width()))),
        mlp_(register_module("mlp", std::make_shared<FeedForward>(spec))) {}

  at::Tensor Forward(const at::Tensor& values, const at::Tensor& future) {
    const at::Tensor attended = values + attn_->Forward(ln_1_->forward(values), future);
    return attended + mlp_->Forward(ln_2_->forward(attended));
  }

 private:
  torch::nn::LayerNorm ln_1_;
  std::shared_ptr<Attention> attn_;
  torch::nn::LayerNorm ln_2_;
  std::shared_ptr<FeedForward> mlp_;
};

// All but the output layer.
class Transformer final : public torch::nn::Module {
 public:
  Transformer(const v1::Gpt& spec, int64_t vocabulary, int64_t tokens)
      : dropout_(spec.dropout()),
        future_(at::ones({tokens, tokens}, at::kBool).triu(1)),
        wte_(register_module("wte", torch::nn::Embedding(vocabulary, spec.width()))),
        wpe_(register_module("wpe", torch::nn::Embedding(tokens, spec.width()))) {
    auto list = register_module("h", torch::nn::ModuleList());
    for (uint32_t i = 0; i < spec.layers(); ++i) {
      blocks_.push_back(std::make_shared<Block>(spec));
      list->push_back(blocks_.back());
    }
    ln_f_ = register_module("ln_f", MakeLayerNorm(spec.width()));
  }

  at::Tensor Forward(const at::Tensor& tokens) {
    at::Tensor values = Dropout(wte_->forward(tokens) + wpe_->weight, dropout_, is_training());
    future_ = future_.to(values.device());  // no copy, but for the first time on another device
    for (const auto& block : blocks_) values = block->Forward(values, future_);
    return ln_f_->forward(values);
  }

  const at::Tensor& token_embedding() const { return wte_->weight; }

 private:
  const double dropout_;
  at::Tensor future_;
  torch::nn::Embedding wte_, wpe_;
  std::vector<std::shared_ptr<Block>> blocks_;
  torch::nn::LayerNorm ln_f_{nullptr};
};

class Gpt final : public ModuleNetwork {
 public:
  Gpt(const v1::Gpt& spec, const data::SampleShape& shape)
      : transformer_(register_module(
            "transformer",
            std::make_shared<Transformer>(spec, shape.vocabulary, shape.inputs.front()))) {
    if (!spec.tie_weights()) {
      const auto options = torch::nn::LinearOptions(spec.width(), shape.classes).bias(false);
      lm_head_ = register_module("lm_head", torch::nn::Linear(options));
    }
    DrawInitialWeights(spec.layers());
  }

  at::Tensor Forward(const at::Tensor& inputs) override {
    const at::Tensor& head = lm_head_ ? lm_head_->weight : transformer_->token_embedding();
    return at::linear(transformer_->Forward(inputs), head);
  }

 private:
  void DrawInitialWeights(uint32_t layers) {
    const at::NoGradGuard no_grad;
    for (const auto& item : named_parameters()) {
      const bool adds_to_stream = absl::EndsWith(item.key(), "c_proj.weight");
      if (item.value().dim() == 2) {
        item.value().normal_(0, adds_to_stream ? 0.02 / std::sqrt(2.0 * layers) : 0.02);
      } else if (absl::EndsWith(item.key(), ".bias")) {
        item.value().zero_();
      }
    }
  }

  std::shared_ptr<Transformer> transformer_;
  torch::nn::Linear lm_head_{nullptr};  // null where it is the token embedding
};

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> CreateGpt(const v1::Gpt& spec,
                                                   const data::SampleShape& shape) {
  if (shape.vocabulary == 0 || shape.inputs.size() != 1) {
    return absl::InvalidArgumentError(
        "model.gpt: needs rows of tokens as inputs; data.text makes them, and `vocabulary` below "
        "other kinds of data");
  }
  if (shape.classes == 0 || shape.targets != shape.inputs) {
    return absl::InvalidArgumentError(
        "model.gpt: needs a class for each token as targets; data.text makes them, and `classes` "
        "below other kinds of data");
  }
  if (spec.tie_weights() && shape.classes != shape.vocabulary) {
    return absl::InvalidArgumentError(absl::StrCat("model.gpt.tie_weights: the ", shape.classes,
                                                   " classes are not the ", shape.vocabulary,
                                                   " tokens of the vocabulary; set it to false"));
  }
  return std::make_unique<Gpt>(spec, shape);
}

}  // namespace tandem::model
