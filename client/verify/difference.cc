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

// Between two steps that are there.
bool LeavesOut(const std::vector<v1::StepSample>& samples, uint64_t step) {
  return !samples.empty() && samples.front().step() < step && step < samples.back().step() &&
         SampleOf(samples, step) == nullptr;
}

std::optional<v1::Difference> Find(const std::vector<v1::StepSample>& first,
                                   const std::vector<v1::StepSample>& other) {
  for (const v1::StepSample& a : first) {
    const v1::StepSample* b = SampleOf(other, a.step());
    const v1::Aspect aspect = b == nullptr ? v1::ASPECT_UNSPECIFIED : AspectOf(a, *b);
    if (aspect != v1::ASPECT_UNSPECIFIED) return At(a.step(), aspect);
    if (LeavesOut(other, a.step())) return At(a.step(), v1::ASPECT_LENGTH);
  }
  if (LastStep(first) == LastStep(other)) return std::nullopt;
  return At(std::min(LastStep(first), LastStep(other)) + 1, v1::ASPECT_LENGTH);
}

bool SameBits(const v1::Evaluation& a, const v1::Evaluation& b) {
  return SameBits(a.loss(), b.loss()) && a.has_accuracy() == b.has_accuracy() &&
         SameBits(a.accuracy(), b.accuracy()) && a.samples() == b.samples();
}

// Of runs that should have measured at the same steps.
std::optional<v1::Difference> FindInEvaluations(const Run& first, const Run& other) {
  auto difference = FirstDifference(first.evaluations, other.evaluations);
  if (difference || first.evaluations.size() == other.evaluations.size()) return difference;
  return At(std::max(LastStep(first.samples), LastStep(other.samples)), v1::ASPECT_EVALUATION);
}

struct DifferingTensor {
  uint64_t step;
  std::string name;
  uint32_t missing_in;
};

// A step ends before it is measured.
bool ComesBefore(const DifferingTensor& tensor, const v1::Difference& difference) {
  return tensor.step < difference.step() ||
         (tensor.step == difference.step() && difference.aspect() == v1::ASPECT_EVALUATION);
}

std::optional<DifferingTensor> FindTensor(const Run& first, const Run& other) {
  if (first.ranks.empty()) return std::nullopt;
  for (uint64_t step = 0; step <= CommonSteps(first, other); ++step) {
    const Tensors& here = TensorsAt(first.ranks.front(), step);
    for (const RankTrace& rank : other.ranks) {
      const Tensors& there = TensorsAt(rank, step);
      const std::vector<std::string> names = DifferingTensors(here, there);
      if (names.empty()) continue;
      DifferingTensor tensor{step, names.front(), 0};
      if (!Has(here, tensor.name)) tensor.missing_in = first.world_size;
      if (!Has(there, tensor.name)) tensor.missing_in = other.world_size;
      return tensor;
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

std::optional<v1::Difference> FirstDifference(const std::vector<v1::Evaluation>& first,
                                              const std::vector<v1::Evaluation>& other) {
  for (const v1::Evaluation& a : first) {
    for (const v1::Evaluation& b : other) {
      if (a.step() != b.step() || SameBits(a, b)) continue;
      v1::Difference difference = At(a.step(), v1::ASPECT_EVALUATION);
      difference.set_first_loss(a.loss());
      difference.set_other_loss(b.loss());
      return difference;
    }
  }
  return std::nullopt;
}

std::optional<v1::Difference> Earlier(std::optional<v1::Difference> of_steps,
                                      std::optional<v1::Difference> of_evaluations) {
  const bool steps_first =
      of_steps && (!of_evaluations || of_steps->step() <= of_evaluations->step());
  return steps_first ? of_steps : of_evaluations;
}

std::optional<v1::Difference> FirstDifference(const Run& first, const Run& other) {
  std::optional<v1::Difference> difference =
      Earlier(FirstDifference(first.samples, other.samples), FindInEvaluations(first, other));
  const std::optional<DifferingTensor> tensor = FindTensor(first, other);
  if (tensor && (!difference || ComesBefore(*tensor, *difference))) {
    difference = At(tensor->step, tensor->step == 0 ? v1::ASPECT_INITIAL : v1::ASPECT_PARAMETERS);
    AddLosses(first.samples, other.samples, &*difference);
  }
  if (!difference) return std::nullopt;
  if (tensor) {
    difference->set_tensor(tensor->name);
    difference->set_tensor_step(tensor->step);
    difference->set_tensor_missing_in(tensor->missing_in);
  }
  difference->set_first_world_size(first.world_size);
  difference->set_other_world_size(other.world_size);
  return difference;
}

}  // namespace tandem::verify
