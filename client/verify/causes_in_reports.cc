#include "client/verify/causes_in_reports.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/loss_text.h"
#include "client/verify/words.h"

namespace tandem::verify {
namespace {

// What another order of additions makes of a loss, with room: fp32 rounds to 6e-8.
constexpr double kRounding = 1e-5;

using Samples = std::vector<v1::StepSample>;

// What both runs reported of one step.
struct CommonStep {
  const v1::StepSample& first;
  const v1::StepSample& other;
};

// The first step of both for which `holds`; nothing where there is none.
template <typename Predicate>
std::optional<CommonStep> FirstStep(const Pair& pair, Predicate holds) {
  auto other = pair.other.samples.begin();
  for (const v1::StepSample& first : pair.first.samples) {
    while (other != pair.other.samples.end() && other->step() < first.step()) ++other;
    if (other == pair.other.samples.end()) return std::nullopt;
    if (other->step() == first.step() && holds(first, *other)) return CommonStep{first, *other};
  }
  return std::nullopt;
}

uint64_t SamplesIn(const Samples& steps) {
  uint64_t samples = 0;
  for (const v1::StepSample& step : steps) samples += step.count();
  return samples;
}

std::string RatioHint(double ratio, const Pair& pair) {
  const double workers = static_cast<double>(pair.other.world_size) / pair.first.world_size;
  if (ratio == workers)
    return "the ratio of the workers: the batch is that of one rank, not of all";
  if (ratio == 1 / workers) return "1 / the ratio of the workers: one rank alone reports its share";
  return "and losses of the same step do not compare";
}

Sentence BatchSizeReported(const Pair& pair) {
  const auto begin = FirstStep(pair, [](const auto&, const auto&) { return true; });
  if (!begin || begin->first.count() == 0 || begin->first.count() == begin->other.count()) {
    return std::nullopt;
  }
  const double ratio =
      static_cast<double>(begin->other.count()) / static_cast<double>(begin->first.count());
  return absl::StrFormat("step %u has %s at %s and %u at %s, %s times as many: %s",
                         begin->first.step(), Counted(begin->other.count(), "sample"),
                         NameOf(pair.other), begin->first.count(), NameOf(pair.first),
                         MagnitudeText(ratio), RatioHint(ratio, pair));
}

Sentence SamplesReported(const Pair& pair) {
  const uint64_t there = SamplesIn(pair.first.samples), here = SamplesIn(pair.other.samples);
  if (here == there) return std::nullopt;
  return absl::StrFormat(
      "%s reported %s in %s and %s %u in %u: samples are left out, or come twice, where they do "
      "not "
      "divide evenly among the ranks",
      NameOf(pair.other), Counted(here, "sample"), Counted(pair.other.samples.size(), "step"),
      NameOf(pair.first), there, pair.first.samples.size());
}

// Not every program reports which samples it had.
Sentence OrderReported(const Pair& pair) {
  const auto step = FirstStep(pair, [](const v1::StepSample& a, const v1::StepSample& b) {
    return a.samples_digest() != b.samples_digest() && a.samples_digest() != 0 &&
           b.samples_digest() != 0;
  });
  if (!step) return std::nullopt;
  return absl::StrFormat(
      "step %u was trained on other samples, or on the same in another order: digest %016x at %s, "
      "%016x at %s",
      step->first.step(), step->first.samples_digest(), NameOf(pair.first),
      step->other.samples_digest(), NameOf(pair.other));
}

std::optional<CommonStep> WhereLossesPart(const Pair& pair) {
  return FirstStep(pair, [](const v1::StepSample& a, const v1::StepSample& b) {
    return client::LossOf(a) != client::LossOf(b);
  });
}

Sentence OrderOfAdditionsReported(const Pair& pair) {
  const auto step = WhereLossesPart(pair);
  if (!step) return std::nullopt;
  const auto first = client::LossOf(step->first), other = client::LossOf(step->other);
  if (!first || !other || RelativeDifference(*first, *other) > kRounding) return std::nullopt;
  return absl::StrFormat(
      "counts and learning rates are equal, and at step %u the loss differs by %s of itself, as "
      "rounding makes it: sums were taken in another order",
      step->first.step(), MagnitudeText(RelativeDifference(*first, *other)));
}

std::string WhereToLook(const Pair& pair) {
  const auto step = WhereLossesPart(pair);
  if (!step) return "the losses of all steps that both reported are equal";
  const bool from_the_start = step->first.step() == pair.first.samples.front().step();
  return absl::StrFormat(
      "counts and learning rates are equal, and losses part at step %u, %s", step->first.step(),
      from_the_start ? "the first: look at initial weights, random numbers, and which samples each "
                       "rank has (report their ids to see)"
                     : "after steps that are equal: look at what is done with gradients, and at "
                       "which samples each rank has (report their ids to see)");
}

std::string NotRepeatableReported(const Pair& pair) {
  const auto step = WhereLossesPart(pair);
  if (!step) return SamplesReported(pair).value_or("it reported other steps the second time");
  return absl::StrFormat(
      "the loss of step %u is %s the first time and %s the second: seed what is random, as from "
      "TANDEM_SEED",
      step->first.step(), NumberText(client::LossOf(step->first).value_or(0)),
      NumberText(client::LossOf(step->other).value_or(0)));
}

struct Cause {
  v1::Diagnosis diagnosis;
  Sentence (*find)(const Pair&);
};

// In the order in which one may bring about the next.
constexpr Cause kCauses[] = {
    {v1::DIAGNOSIS_BATCH_SIZE, BatchSizeReported},
    {v1::DIAGNOSIS_SAMPLES_TWICE_OR_NEVER, SamplesReported},
    {v1::DIAGNOSIS_LEARNING_RATE, LearningRate},
    {v1::DIAGNOSIS_OTHER_ORDER, OrderReported},
    {v1::DIAGNOSIS_ORDER_OF_ADDITIONS, OrderOfAdditionsReported},
};

}  // namespace

v1::Finding DiagnoseReports(const Pair& pair) {
  v1::Finding finding;
  finding.set_world_size(pair.other.world_size);
  if (pair.first.world_size == pair.other.world_size) {
    finding.set_diagnosis(v1::DIAGNOSIS_NOT_REPEATABLE);
    finding.set_sentence(NotRepeatableReported(pair));
    return finding;
  }
  for (const Cause& cause : kCauses) {
    const Sentence sentence = cause.find(pair);
    if (!sentence) continue;
    finding.set_diagnosis(cause.diagnosis);
    finding.set_sentence(*sentence);
    return finding;
  }
  finding.set_diagnosis(v1::DIAGNOSIS_UNKNOWN);
  finding.set_sentence(WhereToLook(pair));
  return finding;
}

}  // namespace tandem::verify
