#include "worker/model/convnet.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ATen/Functions.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "c10/util/accumulate.h"
#include "torch/nn/modules/batchnorm.h"
#include "torch/nn/modules/container/modulelist.h"
#include "torch/nn/modules/conv.h"
#include "torch/nn/modules/linear.h"
#include "worker/model/dropout.h"
#include "worker/model/loss.h"
#include "worker/model/module_network.h"
#include "worker/model/segmented.h"

namespace tandem::model {
namespace {

struct Picture {
  int64_t channels, height, width;
};

Picture PictureOf(const data::SampleShape& shape) {
  const std::vector<int64_t>& inputs = shape.inputs;
  return {inputs.size() == 3 ? inputs[0] : 1, inputs[inputs.size() - 2], inputs.back()};
}

class Convnet final : public ModuleNetwork, public Segmented {
 public:
  Convnet(const v1::Convnet& spec, const data::SampleShape& shape);

  at::Tensor Forward(const at::Tensor& inputs) override;
  Segmented* segmented() override { return norms_.empty() ? nullptr : this; }

  std::vector<NormLayer> Norms() const override;
  at::Tensor RunSegment(size_t index, const at::Tensor& values) override;

 private:
  at::Tensor Head(const at::Tensor& values);

  const Picture picture_;
  const int64_t pool_;
  const double dropout_;
  const std::vector<int64_t> output_shape_;
  std::vector<torch::nn::Conv2d> convs_;
  std::vector<torch::nn::BatchNorm2d> norms_;  // as many, or none
  torch::nn::Linear head_{nullptr};
};

Convnet::Convnet(const v1::Convnet& spec, const data::SampleShape& shape)
    : picture_(PictureOf(shape)),
      pool_(spec.pool()),
      dropout_(spec.dropout()),
      output_shape_(OutputShape(shape)) {
  auto convs = register_module("convs", torch::nn::ModuleList());
  Picture now = picture_;
  for (const uint32_t channels : spec.channels()) {
    convs_.emplace_back(
        torch::nn::Conv2dOptions(now.channels, channels, spec.kernel()).padding(spec.kernel() / 2));
    convs->push_back(convs_.back());
    now = {channels, now.height / pool_, now.width / pool_};
  }
  if (spec.batch_norm()) {
    auto norms = register_module("norms", torch::nn::ModuleList());
    for (const uint32_t channels : spec.channels()) {
      norms_.emplace_back(channels);
      norms->push_back(norms_.back());
    }
  }
  head_ = register_module("head", torch::nn::Linear(now.channels * now.height * now.width,
                                                    c10::multiply_integers(output_shape_)));
}

at::Tensor Convnet::Forward(const at::Tensor& inputs) {
  at::Tensor values = RunSegment(0, inputs);
  for (size_t i = 0; i < convs_.size(); ++i) {
    if (!norms_.empty()) values = norms_[i]->forward(values);
    values = RunSegment(i + 1, values);
  }
  return values;
}

at::Tensor Convnet::RunSegment(size_t index, const at::Tensor& values) {
  const at::Tensor next =
      index == 0 ? values.reshape({-1, picture_.channels, picture_.height, picture_.width})
                 : at::max_pool2d(at::relu(values), pool_);
  return index == convs_.size() ? Head(next) : convs_[index]->forward(next);
}

at::Tensor Convnet::Head(const at::Tensor& values) {
  const at::Tensor kept = Dropout(values.flatten(1), dropout_, is_training());
  return WithSamples(head_->forward(kept), output_shape_);
}

std::vector<NormLayer> Convnet::Norms() const {
  std::vector<NormLayer> norms;
  for (const torch::nn::BatchNorm2d& norm : norms_) {
    norms.push_back({.weight = norm->weight,
                     .bias = norm->bias,
                     .running_mean = norm->running_mean,
                     .running_var = norm->running_var,
                     .num_batches_tracked = norm->num_batches_tracked,
                     .momentum = *norm->options.momentum(),
                     .eps = norm->options.eps()});
  }
  return norms;
}

absl::Status CheckPicture(const data::SampleShape& shape) {
  const size_t dimensions = shape.inputs.size();
  if (shape.vocabulary == 0 && (dimensions == 2 || dimensions == 3)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "model.convnet: needs pictures, [height, width] or [channels, height, width], as inputs; ",
      shape.vocabulary > 0 ? "those of this data are tokens, which model.gpt reads"
                           : absl::StrCat("those of this data have the shape [",
                                          absl::StrJoin(shape.inputs, ", "), "]")));
}

absl::Status CheckPool(const v1::Convnet& spec, const Picture& picture) {
  const int64_t pool = spec.pool();
  int64_t height = picture.height, width = picture.width;
  for (int i = 0; i < spec.channels_size(); ++i) {
    if (pool > std::min(height, width)) {
      return absl::InvalidArgumentError(
          absl::StrCat("model.convnet.pool: ", pool, " x ", pool, " pixels are more than the ",
                       height, " x ", width, " that convolution ", i + 1, " of ",
                       spec.channels_size(), " sees; take fewer channels or a smaller pool"));
    }
    height /= pool;
    width /= pool;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> CreateConvnet(const v1::Convnet& spec,
                                                       const data::SampleShape& shape) {
  if (absl::Status status = CheckPicture(shape); !status.ok()) return status;
  if (absl::Status status = CheckPool(spec, PictureOf(shape)); !status.ok()) return status;
  return std::make_unique<Convnet>(spec, shape);
}

}  // namespace tandem::model
