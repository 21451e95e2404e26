#include "worker/model/loss.h"

#include "ATen/Functions.h"
#include "ATen/TensorOperators.h"
#include "c10/util/Exception.h"

namespace tandem::model {
namespace {

Outcome CrossEntropy(const at::Tensor& scores, const at::Tensor& targets) {
  TORCH_CHECK(scores.dim() == targets.dim() + 1 &&
                  scores.sizes().slice(0, targets.dim()) == targets.sizes(),
              "scores of shape ", scores.sizes(), " do not fit targets of shape ", targets.sizes());
  Outcome outcome;
  outcome.loss_sum =
      at::cross_entropy_loss(scores.reshape({-1, scores.size(-1)}), targets.reshape({-1}),
                             /*weight=*/{}, at::Reduction::Sum, data::kIgnoredTarget);
  outcome.count = at::ne(targets, data::kIgnoredTarget).sum().item<int64_t>();
  return outcome;
}

Outcome SquaredError(const at::Tensor& outputs, const at::Tensor& targets) {
  TORCH_CHECK(outputs.sizes() == targets.sizes(), "outputs of shape ", outputs.sizes(),
              " do not fit targets of shape ", targets.sizes());
  return {.loss_sum = at::square(outputs - targets).sum(),
          .count = static_cast<uint64_t>(targets.size(0)),
          .correct = {}};
}

}  // namespace

absl::StatusOr<v1::Loss> LossOf(const v1::JobSpec& spec, const data::SampleShape& shape) {
  const v1::Loss fitting = shape.classes > 0 ? v1::LOSS_CROSS_ENTROPY : v1::LOSS_SQUARED_ERROR;
  if (!spec.has_loss() || spec.loss() == fitting) return fitting;
  if (shape.classes > 0) {
    return absl::InvalidArgumentError(
        "loss: squared_error needs numbers as targets, and those of this data are classes; "
        "cross_entropy fits them");
  }
  return absl::InvalidArgumentError(
      "loss: cross_entropy needs classes as targets, and those of this data are numbers; give "
      "their number as `classes` below data, or take squared_error");
}

std::vector<int64_t> OutputShape(const data::SampleShape& shape) {
  std::vector<int64_t> output = shape.targets;
  if (shape.classes > 0) output.push_back(shape.classes);
  return output;
}

at::Tensor WithSamples(const at::Tensor& values, std::vector<int64_t> output_shape) {
  output_shape.insert(output_shape.begin(), values.size(0));
  return values.reshape(output_shape);
}

Outcome ComputeLoss(v1::Loss loss, const at::Tensor& outputs, const at::Tensor& targets) {
  const at::Tensor values = outputs.to(at::kFloat);
  return loss == v1::LOSS_SQUARED_ERROR ? SquaredError(values, targets)
                                        : CrossEntropy(values, targets);
}

at::Tensor CountCorrect(const at::Tensor& scores, const at::Tensor& targets) {
  // kIgnoredTarget is no class, so it never equals one.
  return at::eq(at::argmax(scores, -1), targets).sum();
}

}  // namespace tandem::model
