#pragma once

#include <cstdint>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "worker/model/segmented.h"

namespace tandem::model {

// Some numbers about one logical rank's values, channel by channel.
using Values = std::vector<double>;

// One batch normalization over the samples of several logical ranks, of which each sees only its
// own. All arithmetic is in double; C is the number of channels, m of values in one channel.
//
//   forward, x:   Moments of each leaf -> CombineMoments over all -> SetStatistics, then Normalize
//                 each leaf:  h = (x - mean) / sqrt(variance + eps),  y = weight h + bias
//   backward, dy: GradientSums of each leaf -> AddValues over all -> InputGradient of each leaf:
//                 dx = weight / sqrt(variance + eps) * (dy - sum(dy) / m - h sum(dy h) / m)
//
// The gradient of a leaf's weight and bias are its own GradientSums.
class GlobalNorm {
 public:
  // Its tensors are shared.
  explicit GlobalNorm(NormLayer layer);

  // {m, C means, C sums of squares about the mean}. A constant channel has exactly 0.
  static Values Moments(const at::Tensor& x);
  static size_t MomentsWidth(int64_t channels) { return 1 + 2 * static_cast<size_t>(channels); }
  // Of all values of both: Chan, Golub, LeVeque 1979.
  static Values CombineMoments(const Values& left, const Values& right);

  // {C sums of dy h, C sums of dy}
  Values GradientSums(const at::Tensor& x, const at::Tensor& gradient) const;
  static size_t GradientSumsWidth(int64_t channels) { return 2 * static_cast<size_t>(channels); }
  static Values AddValues(const Values& left, const Values& right);

  // Takes the combined moments of a step and moves the running statistics by them, once; the
  // running variance is the unbiased one.
  //   InvalidArgument  one value a channel in all: it has no variance.
  absl::Status SetStatistics(const Values& moments);

  // The rest follows SetStatistics of the same step. Results are float32, without autograd.
  at::Tensor Normalize(const at::Tensor& x) const;
  at::Tensor InputGradient(const at::Tensor& x, const at::Tensor& gradient,
                           const Values& gradient_sums) const;
  // Of the leaf with these sums.
  at::Tensor WeightGradient(const Values& own_gradient_sums) const;
  at::Tensor BiasGradient(const Values& own_gradient_sums) const;

  int64_t channels() const { return layer_.weight.numel(); }

 private:
  // One value a channel, from number `begin` on, where the layer is.
  at::Tensor Part(const Values& values, size_t begin) const;
  at::Tensor Centered(const at::Tensor& x) const;

  NormLayer layer_;  // constant after construction
  double count_ = 0;
  at::Tensor mean_, inverse_deviation_;  // double, one value a channel
};

}  // namespace tandem::model
