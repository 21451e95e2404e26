#include "client/verify/difference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "client/loss_text.h"

namespace tandem::verify {
namespace {

using client::LossOf;

bool SameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// In what two records of one step differ.
v1::Aspect AspectOf(const v1::StepSample& a, const v1::StepSample& b) {
  if (a.samples_digest() != b.samples_digest() || a.count() != b.count()) {
    return v1::ASPECT_SAMPLES;
  }
  if (!SameBits(a.loss_sum(), b.loss_sum())) return v1::ASPECT_LOSS;
  // Not every step has a digest.
  const bool known = !a.parameter_digest().empty() && !b.parameter_digest().empty();
  if (known && a.parameter_digest() != b.parameter_digest()) return v1::ASPECT_PARAMETERS;
  return v1::ASPECT_UNSPECIFIED;
}

const v1::StepSample* SampleOf(const std::vector<v1::StepSample>& samples, uint64_t step) {
  const auto is_before = [](const v1::StepSample& sample, uint64_t s) { return sample.step() < s; };
  const auto found = std::lower_bound(samples.begin(), samples.end(), step, is_before);
  return found != samples.end() && found->step() == step ? &*found : nullptr;
}

void AddLosses(const std::vector<v1::StepSample>& first, const std::vector<v1::StepSample>& other,
               v1::Difference* difference) {
  const v1::StepSample* a = SampleOf(first, difference->step());
  const v1::StepSample* b = SampleOf(other, difference->step());
  const std::optional<double> first_loss = a != nullptr ? LossOf(*a) : std::nullopt;
  const std::optional<double> other_loss = b != nullptr ? LossOf(*b) : std::nullopt;
  if (first_loss) difference->set_first_loss(*first_loss);
  if (other_loss) difference->set_other_loss(*other_loss);
}

v1::Difference At(uint64_t step, v1::Aspect aspect) {
  v1::Difference difference;
  difference.set_step(step);
  difference.set_aspect(aspect);
  return difference;
}

uint64_t LastStep(const std::vector<v1::StepSample>& samples) {
  return samples.empty() ? 0 : samples.back().step();
}

std::optional<v1::Difference> Find(const std::vector<v1::StepSample>& first,
                                   const std::vector<v1::StepSample>& other) {
  for (const v1::StepSample& a : first) {
    const v1::StepSample* b = SampleOf(other, a.step());
    const v1::Aspect aspect = b == nullptr ? v1::ASPECT_UNSPECIFIED : AspectOf(a, *b);
    if (aspect != v1::ASPECT_UNSPECIFIED) return At(a.step(), aspect);
  }
  if (LastStep(first) == LastStep(other)) return std::nullopt;
  return At(std::min(LastStep(first), LastStep(other)) + 1, v1::ASPECT_LENGTH);
}

struct DifferingTensor {
  uint64_t step;
  std::string name;
};

std::optional<DifferingTensor> FindTensor(const Run& first, const Run& other) {
  if (first.ranks.empty()) return std::nullopt;
  for (uint64_t step = 0; step <= CommonSteps(first, other); ++step) {
    const Tensors& tensors = TensorsAt(first.ranks.front(), step);
    for (const RankTrace& rank : other.ranks) {
      const v1::TensorDigest* tensor = FirstDiffering(tensors, TensorsAt(rank, step));
      if (tensor != nullptr) return DifferingTensor{step, tensor->name()};
    }
  }
  return std::nullopt;
}

}  // namespace

double RelativeDifference(double a, double b) {
  if (SameBits(a, b) || a == b) return 0;
  const double relative = std::abs(a - b) / std::max(std::abs(a), std::abs(b));
  return std::isfinite(relative) ? relative : std::numeric_limits<double>::infinity();
}

std::optional<v1::Difference> FirstDifference(const std::vector<v1::StepSample>& first,
                                              const std::vector<v1::StepSample>& other) {
  std::optional<v1::Difference> difference = Find(first, other);
  if (difference) AddLosses(first, other, &*difference);
  return difference;
}

std::optional<v1::Difference> FirstDifference(const Run& first, const Run& other) {
  std::optional<v1::Difference> difference = Find(first.samples, other.samples);
  const std::optional<DifferingTensor> tensor = FindTensor(first, other);
  if (tensor && (!difference || tensor->step < difference->step())) {
    difference = At(tensor->step, tensor->step == 0 ? v1::ASPECT_INITIAL : v1::ASPECT_PARAMETERS);
  }
  if (!difference) return std::nullopt;
  if (tensor) {
    difference->set_tensor(tensor->name);
    difference->set_tensor_step(tensor->step);
  }
  difference->set_first_world_size(first.world_size);
  difference->set_other_world_size(other.world_size);
  AddLosses(first.samples, other.samples, &*difference);
  return difference;
}

}  // namespace tandem::verify
