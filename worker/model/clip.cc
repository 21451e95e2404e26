#include "worker/model/clip.h"

#include <cmath>

#include "ATen/Functions.h"
#include "ATen/core/grad_mode.h"

namespace tandem::model {

double ClipByNorm(const std::vector<ddp::NamedTensor>& parameters, double max_norm) {
  const at::NoGradGuard no_grad;
  double squares = 0;
  for (const ddp::NamedTensor& parameter : parameters) {
    const at::Tensor& gradient = parameter.tensor.grad();
    if (gradient.defined()) squares += gradient.to(at::kDouble).square().sum().item<double>();
  }
  const double norm = std::sqrt(squares);
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1) return norm;
  for (const ddp::NamedTensor& parameter : parameters) {
    if (parameter.tensor.grad().defined()) parameter.tensor.mutable_grad().mul_(factor);
  }
  return norm;
}

}  // namespace tandem::model
