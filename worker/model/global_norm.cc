#include "worker/model/global_norm.h"

#include <utility>

#include "ATen/Functions.h"
#include "ATen/TensorOperators.h"
#include "ATen/core/grad_mode.h"

namespace tandem::model {
namespace {

// One value a channel, so that it multiplies values of the shape of `x`.
at::Tensor Along(const at::Tensor& x, const at::Tensor& per_channel) {
  std::vector<int64_t> sizes(static_cast<size_t>(x.dim()), 1);
  sizes[1] = -1;
  return per_channel.reshape(sizes);
}

at::Tensor SumOverChannels(const at::Tensor& x) {
  std::vector<int64_t> dimensions;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (d != 1) dimensions.push_back(d);
  }
  return x.sum(dimensions);
}

void Append(const at::Tensor& per_channel, Values& values) {
  const at::Tensor numbers = per_channel.to(at::kCPU, at::kDouble).contiguous();
  const double* begin = numbers.const_data_ptr<double>();
  values.insert(values.end(), begin, begin + numbers.numel());
}

}  // namespace

GlobalNorm::GlobalNorm(NormLayer layer) : layer_(std::move(layer)) {}

Values GlobalNorm::Moments(const at::Tensor& x) {
  const at::NoGradGuard no_grad;
  const at::Tensor exact = x.to(at::kDouble);
  const double count = static_cast<double>(x.numel() / x.size(1));
  const at::Tensor mean = SumOverChannels(exact) / count;
  Values moments = {count};
  Append(mean, moments);
  Append(SumOverChannels(at::square(exact - Along(x, mean))), moments);
  return moments;
}

Values GlobalNorm::CombineMoments(const Values& left, const Values& right) {
  const size_t channels = left.size() / 2;
  const double count = left[0] + right[0];
  Values both(left.size());
  both[0] = count;
  for (size_t c = 1; c <= channels; ++c) {
    const double distance = right[c] - left[c];
    both[c] = left[c] + distance * right[0] / count;
    both[channels + c] =
        left[channels + c] + right[channels + c] + distance * distance * left[0] * right[0] / count;
  }
  return both;
}

Values GlobalNorm::AddValues(const Values& left, const Values& right) {
  Values sum = left;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  return sum;
}

absl::Status GlobalNorm::SetStatistics(const Values& moments) {
  const at::NoGradGuard no_grad;
  count_ = moments[0];
  if (count_ <= 1) {
    return absl::InvalidArgumentError(
        "batch_norm: a step has a single value in each channel, which has no variance; "
        "data.drop_last leaves out a batch of one sample");
  }
  mean_ = Part(moments, 1);
  const at::Tensor squares = Part(moments, 1 + static_cast<size_t>(channels()));
  inverse_deviation_ = 1 / at::sqrt(squares / count_ + layer_.eps);
  const auto move = [this](const at::Tensor& running, const at::Tensor& newest) {
    running.copy_(running.to(at::kDouble) * (1 - layer_.momentum) + newest * layer_.momentum);
  };
  move(layer_.running_mean, mean_);
  move(layer_.running_var, squares / (count_ - 1));
  layer_.num_batches_tracked.add_(1);
  return absl::OkStatus();
}

at::Tensor GlobalNorm::Part(const Values& values, size_t begin) const {
  const auto first = values.begin() + static_cast<ptrdiff_t>(begin);
  return at::tensor(std::vector<double>(first, first + channels()), at::kDouble)
      .to(layer_.weight.device());
}

at::Tensor GlobalNorm::Centered(const at::Tensor& x) const {
  return (x.to(at::kDouble) - Along(x, mean_)) * Along(x, inverse_deviation_);
}

at::Tensor GlobalNorm::Normalize(const at::Tensor& x) const {
  const at::NoGradGuard no_grad;
  const at::Tensor scaled = Centered(x) * Along(x, layer_.weight) + Along(x, layer_.bias);
  return scaled.to(at::kFloat);
}

Values GlobalNorm::GradientSums(const at::Tensor& x, const at::Tensor& gradient) const {
  const at::NoGradGuard no_grad;
  const at::Tensor exact = gradient.to(at::kDouble);
  Values sums;
  Append(SumOverChannels(exact * Centered(x)), sums);
  Append(SumOverChannels(exact), sums);
  return sums;
}

at::Tensor GlobalNorm::InputGradient(const at::Tensor& x, const at::Tensor& gradient,
                                     const Values& gradient_sums) const {
  const at::NoGradGuard no_grad;
  const at::Tensor along_h = Part(gradient_sums, 0) / count_;
  const at::Tensor mean = Part(gradient_sums, static_cast<size_t>(channels())) / count_;
  const at::Tensor left =
      gradient.to(at::kDouble) - Along(x, mean) - Centered(x) * Along(x, along_h);
  return (left * Along(x, layer_.weight * inverse_deviation_)).to(at::kFloat);
}

at::Tensor GlobalNorm::WeightGradient(const Values& own_gradient_sums) const {
  return Part(own_gradient_sums, 0).to(at::kFloat);
}

at::Tensor GlobalNorm::BiasGradient(const Values& own_gradient_sums) const {
  return Part(own_gradient_sums, static_cast<size_t>(channels())).to(at::kFloat);
}

}  // namespace tandem::model
