#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "worker/data/dataset.h"
#include "worker/model/global_norm.h"
#include "worker/model/model.h"

namespace tandem::model {

// One fold of the pass; the same on every rank.
struct FoldPlace {
  uint32_t operation = 0;  // differs within a step
  size_t width = 0;        // values of each leaf
};

// Combines values of all logical ranks, on all ranks, in a fixed order. `leaves`: of this rank's, in
// order, absent where it has no samples; the result is absent if all are.
using FoldAdd = Values (*)(const Values& left, const Values& right);
using Fold = std::function<absl::StatusOr<std::optional<Values>>(
    const FoldPlace& place, absl::Span<const std::optional<Values>> leaves, FoldAdd add)>;

// `leaf` counts this rank's logical ranks from 0.
using SegmentSeed = std::function<uint64_t(size_t leaf, size_t segment)>;

// Forward and backward of all logical ranks of this rank at once, segment by segment, with batch
// normalization over the global batch: its statistics are folded between two segments. (A thread per
// logical rank that waits for the others would stand still on a device on which one thread runs all
// backward passes.) Each logical rank keeps its own gradients. Not thread-safe; all ranks make the
// same calls.
//
//   pass.Forward(batches); pass.Backward(scale);
class SynchronizedPass {
 public:
  // `model` outlives it and has segments.
  SynchronizedPass(Model& model, Fold fold, SegmentSeed seed);

  // Collective. Moves the running statistics. `batches`: one for each logical rank of this rank,
  // absent where it has no samples; outcomes likewise. Throws c10::Error.
  //   InvalidArgument  the step has a single value in each channel; the same on every rank.
  //   others           as Fold.
  absl::StatusOr<std::vector<std::optional<Outcome>>> Forward(
      absl::Span<const std::optional<data::Batch>> batches);

  // Collective; follows Forward, once. For each logical rank the gradient of its loss sum times
  // `scale`, by the order of Model::Parameters: undefined where it has none. Throws c10::Error.
  //   errors as Fold.
  absl::StatusOr<std::vector<std::vector<at::Tensor>>> Backward(double scale);

 private:
  // Of one logical rank with samples.
  struct Leaf {
    data::Batch batch;
    std::vector<at::Tensor> inputs;   // of each segment; from the second on, roots of its graph
    std::vector<at::Tensor> outputs;  // of each segment; of the last one the loss sum
    Outcome outcome;
    at::Tensor incoming;  // gradient of the output of the segment that is next in Backward
    std::vector<at::Tensor> gradients;  // by parameter
  };

  struct Norm {
    GlobalNorm layer;
    size_t weight, bias;  // which of the parameters
  };

  void RunSegment(size_t leaf, size_t segment);
  absl::Status Normalize(size_t norm);
  void RunSegmentBackward(size_t segment, Leaf& leaf);
  absl::Status NormalizeBackward(size_t norm);

  // Constant after construction.
  Model& model_;
  Segmented& network_;
  const Fold fold_;
  const SegmentSeed seed_;
  std::vector<at::Tensor> parameters_;
  std::vector<Norm> norms_;

  std::vector<std::optional<Leaf>> leaves_;  // of this step
};

}  // namespace tandem::model
