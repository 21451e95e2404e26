#pragma once

#include <cstdint>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"
#include "worker/data/dataset.h"

namespace tandem::model {

// What a model says about one batch.
struct Outcome {
  at::Tensor loss_sum;  // scalar; the sum of `count` losses, not their mean
  uint64_t count = 0;   // what the global sum is divided by: samples, or targets that are classes
  at::Tensor correct;   // scalar int64, how many of `count` were right; undefined in training mode
                        // and for squared_error
};

// The loss of `spec`; where it names none, cross_entropy for classes and squared_error for numbers.
//   InvalidArgument  it does not fit the targets; names the key.
absl::StatusOr<v1::Loss> LossOf(const v1::JobSpec& spec, const data::SampleShape& shape);

// What a network puts out for one sample: a number for each target, or a score for each of its
// classes, along the last dimension.
std::vector<int64_t> OutputShape(const data::SampleShape& shape);

// `values`, one row a sample, in the shape samples x `output_shape`.
at::Tensor WithSamples(const at::Tensor& values, std::vector<int64_t> output_shape);

// All but `correct`, in float32.
//   cross_entropy  -log softmax(scores)[target] for each target but kIgnoredTarget.
//   squared_error  for each sample, the sum of (output - target)^2.
// Throws c10::Error where the shape of `outputs` is not samples x OutputShape.
Outcome ComputeLoss(v1::Loss loss, const at::Tensor& outputs, const at::Tensor& targets);

// How many targets but kIgnoredTarget have the highest score.
at::Tensor CountCorrect(const at::Tensor& scores, const at::Tensor& targets);

}  // namespace tandem::model
