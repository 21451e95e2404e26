#include "client/verify/judge.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "client/loss_text.h"
#include "client/verify/causes_in_reports.h"
#include "client/verify/diagnose.h"
#include "client/verify/difference.h"

namespace tandem::verify {
namespace {

// In place of the loss of a step in which every target was masked out.
constexpr double kMasked = std::numeric_limits<double>::quiet_NaN();

void AddLargestDifference(const Run& first, const Run& other, v1::VerifiedRun* judged) {
  for (size_t i = 0; i < std::min(first.samples.size(), other.samples.size()); ++i) {
    const std::optional<double> a = client::LossOf(first.samples[i]);
    const std::optional<double> b = client::LossOf(other.samples[i]);
    if (!a || !b || first.samples[i].step() != other.samples[i].step()) continue;
    const double difference = RelativeDifference(*a, *b);
    if (difference <= judged->largest_difference()) continue;
    judged->set_largest_difference(difference);
    judged->set_largest_difference_step(other.samples[i].step());
  }
}

bool SameSteps(const Run& first, const Run& other) {
  return std::equal(
      first.samples.begin(), first.samples.end(), other.samples.begin(), other.samples.end(),
      [](const v1::StepSample& a, const v1::StepSample& b) { return a.step() == b.step(); });
}

bool SameSamples(const Run& first, const Run& other) {
  return std::equal(first.samples.begin(), first.samples.end(), other.samples.begin(),
                    other.samples.end(), [](const v1::StepSample& a, const v1::StepSample& b) {
                      return a.samples_digest() == b.samples_digest() && a.count() == b.count();
                    });
}

// Each evaluation of the one has one of the other on as many samples, with a loss within `tolerance`.
bool EvaluateAlike(const Run& first, const Run& other, double tolerance) {
  return std::equal(first.evaluations.begin(), first.evaluations.end(), other.evaluations.begin(),
                    other.evaluations.end(), [&](const v1::Evaluation& a, const v1::Evaluation& b) {
                      return a.step() == b.step() && a.samples() == b.samples() &&
                             RelativeDifference(a.loss(), b.loss()) <= tolerance;
                    });
}

v1::VerifiedRun Describe(const Run& run) {
  v1::VerifiedRun described;
  described.set_world_size(run.world_size);
  described.set_cause(run.cause);
  for (const v1::StepSample& sample : run.samples) {
    described.add_losses(client::LossOf(sample).value_or(kMasked));
  }
  if (!run.samples.empty()) {
    described.set_parameter_digest(run.samples.back().parameter_digest());
  }
  if (!run.evaluations.empty()) *described.mutable_evaluation() = run.evaluations.back();
  return described;
}

v1::VerifiedRun Compare(const Run& first, const Run& other, const JudgeOptions& options) {
  v1::VerifiedRun judged = Describe(other);
  AddLargestDifference(first, other, &judged);
  const bool ended_well = first.cause.empty() && other.cause.empty();
  if (ended_well && !FirstDifference(first, other)) {
    judged.set_verdict(v1::VERDICT_BIT_EQUAL);
    return judged;
  }
  const bool close = ended_well && options.level == v1::EQUIVALENCE_LEVEL_SEMANTIC &&
                     SameSteps(first, other) && (options.reported || SameSamples(first, other)) &&
                     judged.largest_difference() <= options.tolerance &&
                     EvaluateAlike(first, other, options.tolerance);
  judged.set_verdict(close ? v1::VERDICT_WITHIN_TOLERANCE : v1::VERDICT_DIFFERENT);
  return judged;
}

bool Has(const v1::Verification& verification, v1::Diagnosis diagnosis) {
  const auto& findings = verification.findings();
  return std::any_of(findings.begin(), findings.end(),
                     [&](const v1::Finding& finding) { return finding.diagnosis() == diagnosis; });
}

// A program that repeats itself well enough can be compared with itself.
std::vector<v1::Finding> FindingsOfReports(const Pair& pair, v1::Verdict verdict) {
  const bool repeated = pair.first.world_size == pair.other.world_size;
  const bool good_enough = repeated && verdict != v1::VERDICT_DIFFERENT;
  return good_enough ? std::vector<v1::Finding>() : std::vector{DiagnoseReports(pair)};
}

std::vector<v1::Finding> FindingsOf(const Pair& pair, bool differ) {
  const bool traced = !pair.first.ranks.empty() && !pair.other.ranks.empty();
  if (!differ || !traced) {
    const auto finding = DiagnoseDisagreement(pair);
    return finding ? std::vector<v1::Finding>{*finding} : std::vector<v1::Finding>{};
  }
  if (pair.first.world_size == pair.other.world_size) return {DiagnoseRepetition(pair)};
  return Diagnose(pair);
}

// A cause counts once, at the first world size that shows it.
void AddFindings(const Run& first, const Run& other, bool reported,
                 v1::Verification* verification) {
  const auto difference = FirstDifference(first, other);
  const v1::Verdict verdict = verification->runs().rbegin()->verdict();
  if (difference && !verification->has_difference()) {
    *verification->mutable_difference() = *difference;
  }
  const Pair pair{first, other, difference.value_or(v1::Difference())};
  for (const v1::Finding& finding : reported&& difference
                                        ? FindingsOfReports(pair, verdict)
                                        : FindingsOf(pair, difference.has_value())) {
    if (!Has(*verification, finding.diagnosis())) *verification->add_findings() = finding;
  }
}

}  // namespace

v1::Verification Judge(const Evidence& evidence, const JudgeOptions& options) {
  v1::Verification verification;
  verification.set_level(options.level);
  verification.set_tolerance(options.tolerance);
  verification.set_reported(options.reported);
  verification.set_verdict(v1::VERDICT_BIT_EQUAL);
  const Run& first = evidence.runs.front();
  *verification.add_runs() = Describe(first);
  for (auto run = evidence.runs.begin() + 1; run != evidence.runs.end(); ++run) {
    *verification.add_runs() = Compare(first, *run, options);
    verification.set_verdict(
        std::max(verification.verdict(), verification.runs().rbegin()->verdict()));
    // What does not repeat itself says nothing about the number of workers.
    if (Has(verification, v1::DIAGNOSIS_NOT_REPEATABLE)) continue;
    AddFindings(first, *run, options.reported, &verification);
  }
  if (!verification.findings().empty()) {
    verification.set_diagnosis(verification.findings(0).diagnosis());
  }
  verification.set_passed(verification.verdict() != v1::VERDICT_DIFFERENT);
  return verification;
}

}  // namespace tandem::verify
