// Causes that show in parameters, buffers, gradients and the surroundings of the kernels.
#include <array>
#include <bit>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/verify/causes.h"
#include "client/verify/words.h"

namespace tandem::verify {
namespace {

// What a gradient norm can be off by for other reasons than its scale.
constexpr double kNormTolerance = 0.01;
// What another order of additions makes of a loss or a norm, with room: fp32 rounds to 6e-8.
constexpr double kRounding = 1e-5;

// As every framework calls them.
bool IsStatistic(const std::string& tensor) {
  constexpr std::array kNames = {"running_mean", "running_var", "num_batches_tracked"};
  for (const char* name : kNames) {
    if (absl::EndsWith(tensor, name)) return true;
  }
  return false;
}

bool AreOnlyStatistics(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!IsStatistic(name)) return false;
  }
  return !names.empty();
}

// Where ranks of one run part.
struct Parting {
  uint64_t step;
  uint32_t rank;
  std::vector<std::string> names;
};

std::optional<Parting> PartingAt(const Run& run, uint64_t step) {
  const Tensors& tensors = TensorsAt(run.ranks.front(), step);
  for (const RankTrace& rank : run.ranks) {
    std::vector<std::string> names = DifferingTensors(tensors, TensorsAt(rank, step));
    if (!names.empty()) return Parting{step, rank.header.rank(), std::move(names)};
  }
  return std::nullopt;
}

std::optional<Parting> PartingAfterStart(const Run& run) {
  for (uint64_t step = 1; step <= CommonSteps(run, run); ++step) {
    auto parting = PartingAt(run, step);
    if (parting) return parting;
  }
  return std::nullopt;
}

std::string PartingText(const Run& run, const Parting& parting) {
  return absl::StrFormat("after step %u rank %u of %s has another %s than rank 0 (%s)",
                         parting.step, parting.rank, NameOf(run), parting.names.front(),
                         absl::StrCat(Counted(parting.names.size(), "tensor"), " in all"));
}

// Of the gradient of the whole batch.
std::optional<double> NormAt(const Run& run, uint64_t step) {
  const v1::StepTrace* trace = StepOf(run.ranks.front(), step);
  if (trace == nullptr || !std::isfinite(trace->gradient_norm())) return std::nullopt;
  return trace->gradient_norm();
}

bool IsNear(double ratio, double expected) {
  return std::abs(ratio / expected - 1) <= kNormTolerance;
}

std::string RatioText(double ratio, const Pair& pair) {
  const double workers = static_cast<double>(pair.other.world_size) / pair.first.world_size;
  if (IsNear(ratio, workers)) return "the ratio of the workers: summed where a mean is meant";
  if (IsNear(ratio, 1 / workers)) return "1 / the ratio of the workers: averaged once too often";
  return "neither the ratio of the workers nor 1 / that: shares weigh too much or too little";
}

bool BeginAlike(const Pair& pair) {
  return BatchAt(pair.first, 1) == BatchAt(pair.other, 1) && SameDraws(pair.first, pair.other, 1) &&
         !InitialWeights(pair);
}

Sentence InitialWeightsOfRanks(const Run& run) {
  const auto parting = PartingAt(run, 0);
  if (!parting) return std::nullopt;
  return absl::StrFormat(
      "before the first step rank %u of %s has another %s than rank 0 (%s in all)", parting->rank,
      NameOf(run), parting->names.front(), Counted(parting->names.size(), "tensor"));
}

}  // namespace

Sentence InitialWeights(const Pair& pair) {
  for (const Run* run : {&pair.first, &pair.other}) {
    Sentence sentence = InitialWeightsOfRanks(*run);
    if (sentence) return sentence;
  }
  const Tensors& tensors = TensorsAt(pair.first.ranks.front(), 0);
  const auto names = DifferingTensors(tensors, TensorsAt(pair.other.ranks.front(), 0));
  if (names.empty()) return std::nullopt;
  return absl::StrFormat("%s begins with another %s than %s: %u of %s differ before the first step",
                         NameOf(pair.other), names.front(), NameOf(pair.first), names.size(),
                         Counted(static_cast<uint64_t>(tensors.size()), "tensor"));
}

Sentence LearningRate(const Pair& pair) {
  const size_t steps = std::min(pair.first.samples.size(), pair.other.samples.size());
  for (size_t i = 0; i < steps; ++i) {
    const double first = pair.first.samples[i].learning_rate();
    const double other = pair.other.samples[i].learning_rate();
    if (std::bit_cast<uint64_t>(first) == std::bit_cast<uint64_t>(other)) continue;
    return absl::StrFormat("the learning rate of step %u is %s at %s and %s at %s",
                           pair.first.samples[i].step(), NumberText(other), NameOf(pair.other),
                           NumberText(first), NameOf(pair.first));
  }
  return std::nullopt;
}

Sentence Threads(const Pair& pair) {
  const uint32_t first = pair.first.ranks.front().header.threads();
  for (const Run* run : {&pair.first, &pair.other}) {
    for (const RankTrace& rank : run->ranks) {
      const uint32_t threads = rank.header.threads();
      if (threads == first) continue;
      return absl::StrFormat(
          "kernels had %s on rank %u of %s and %u on rank 0 of %s, and a sum on a CPU is cut by "
          "threads",
          Counted(threads, "thread"), rank.header.rank(), NameOf(*run), first, NameOf(pair.first));
    }
  }
  return std::nullopt;
}

Sentence GradientScale(const Pair& pair) {
  const auto first = NormAt(pair.first, 1), other = NormAt(pair.other, 1);
  if (!first || !other || *first == 0 || !BeginAlike(pair)) return std::nullopt;
  const double ratio = *other / *first;
  if (IsNear(ratio, 1)) return std::nullopt;
  return absl::StrFormat(
      "the gradient of step 1 is %s times as long at %s as at %s (norm %s against %s), from the "
      "same samples and weights: %s",
      MagnitudeText(ratio), NameOf(pair.other), NameOf(pair.first), NumberText(*other),
      NumberText(*first), RatioText(ratio, pair));
}

Sentence BatchNormByRank(const Pair& pair) {
  for (const Run* run : {&pair.other, &pair.first}) {
    const auto parting = PartingAfterStart(*run);
    if (parting && AreOnlyStatistics(parting->names)) {
      return absl::StrCat(PartingText(*run, *parting), ", while parameters are equal");
    }
  }
  const uint64_t step = pair.difference.tensor_step();
  const auto names = DifferingTensors(TensorsAt(pair.first.ranks.front(), step),
                                      TensorsAt(pair.other.ranks.front(), step));
  if (step == 0 || !AreOnlyStatistics(names)) return std::nullopt;
  return absl::StrFormat("after step %u %s differs between %s and %s, while parameters are equal",
                         step, names.front(), NameOf(pair.first), NameOf(pair.other));
}

Sentence RanksDisagree(const Pair& pair) {
  for (const Run* run : {&pair.other, &pair.first}) {
    if (run->ranks_disagree) return absl::StrCat(NameOf(*run), " ended early: ", run->cause);
  }
  return std::nullopt;
}

Sentence RanksDrift(const Pair& pair) {
  if (InitialWeights(pair) || BatchNormByRank(pair)) return std::nullopt;
  for (const Run* run : {&pair.other, &pair.first}) {
    const auto parting = PartingAfterStart(*run);
    if (parting) return absl::StrCat(PartingText(*run, *parting), "; both began alike");
  }
  return RanksDisagree(pair);
}

Sentence OrderOfAdditions(const Pair& pair) {
  const v1::Difference& found = pair.difference;
  const auto first = NormAt(pair.first, found.step()), other = NormAt(pair.other, found.step());
  const bool of_additions =
      found.aspect() == v1::ASPECT_LOSS || found.aspect() == v1::ASPECT_PARAMETERS;
  if (!of_additions || !first || !other) return std::nullopt;
  const double loss = RelativeDifference(found.first_loss(), found.other_loss());
  const double norm = RelativeDifference(*first, *other);
  if (loss > kRounding || norm > kRounding) return std::nullopt;
  return absl::StrFormat(
      "samples, random numbers, initial weights and threads are equal, and at step %u the loss "
      "differs by %s of itself and the gradient norm by %s, as rounding makes it: sums were taken "
      "in another order",
      found.step(), MagnitudeText(loss), MagnitudeText(norm));
}

}  // namespace tandem::verify
