#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <string>
#include <vector>

#include "worker/ddp/gradient_reducer.h"
#include "worker/ddp/transport.h"

namespace tandem::ddp {

// A gradient per parameter; undefined where absent.
using Gradients = std::vector<at::Tensor>;

// What the logical ranks of one step come up with, by logical rank; and the number of samples.
struct ReductionScene {
  std::vector<std::vector<int64_t>> shapes;  // by parameter
  std::vector<Gradients> leaves;
  uint64_t count = 1;
  at::Device device = at::kCPU;  // of the parameters; the leaves are on the CPU

  // Normally distributed, from the seed; every parameter present everywhere.
  static ReductionScene Random(uint32_t leaves, std::vector<std::vector<int64_t>> shapes,
                               uint64_t seed);

  // Parameters of zeros, whose gradient in Backward is what the leaf has for them.
  std::vector<NamedTensor> MakeParameters() const;
  void Backward(const std::vector<NamedTensor>& parameters, uint32_t leaf) const;
};

// One step of this rank through a GradientReducer over MakeParameters(). Collective.
absl::StatusOr<Gradients> ReduceStep(const ReductionScene& scene, GradientReducer& reducer,
                                     const std::vector<NamedTensor>& parameters, uint64_t step);
// The same, with one made for it.
absl::StatusOr<Gradients> Reduce(const ReductionScene& scene, Transport& transport,
                                 GradientReducerOptions options = {});

// The definition, by recursion: the sum over `size` leaves from `begin`.
at::Tensor TreeSum(const ReductionScene& scene, size_t parameter, size_t begin, size_t size);
// The definition of the whole: what Reduce must return.
Gradients Definition(const ReductionScene& scene);

// Undefined in the same places, and else the same bytes.
bool SameBits(const Gradients& a, const Gradients& b);
// SHA-256 over everything SameBits compares.
std::string DigestOf(const Gradients& gradients);

}  // namespace tandem::ddp
