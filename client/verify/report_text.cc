#include "client/verify/report_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/table.h"
#include "client/verify/words.h"

namespace tandem::verify {
namespace {

using client::Cell;
using client::Color;

Color ColorOf(v1::Verdict verdict, bool passed) {
  if (verdict == v1::VERDICT_UNSPECIFIED) return Color::kNone;
  return passed ? Color::kGreen : Color::kRed;
}

// "1, 2 and 4".
std::string SizesText(const v1::Verification& verification) {
  std::vector<uint32_t> sizes;
  for (const v1::VerifiedRun& run : verification.runs()) {
    if (std::count(sizes.begin(), sizes.end(), run.world_size()) == 0) {
      sizes.push_back(run.world_size());
    }
  }
  if (sizes.size() == 1) return absl::StrCat(sizes.front());
  return absl::StrCat(absl::StrJoin(sizes.begin(), sizes.end() - 1, ", "), " and ", sizes.back());
}

std::string RunVerdict(const v1::VerifiedRun& run, double tolerance) {
  if (!run.cause().empty()) return absl::StrCat("ended early: ", run.cause());
  return run.verdict() == v1::VERDICT_UNSPECIFIED ? "" : VerdictText(run.verdict(), tolerance);
}

std::vector<Cell> RunRow(const v1::Verification& verification, int i) {
  const v1::VerifiedRun& run = verification.runs(i);
  const bool passed = run.verdict() != v1::VERDICT_DIFFERENT;
  std::vector<Cell> row = {{absl::StrCat(run.world_size(), i == 1 ? " again" : "")},
                           {run.losses().empty() ? "" : NumberText(*run.losses().rbegin())}};
  if (!verification.reported()) row.push_back({ShortDigest(run.parameter_digest())});
  row.push_back({RunVerdict(run, verification.tolerance()), ColorOf(run.verdict(), passed)});
  return row;
}

std::string Table(const v1::Verification& verification, bool color) {
  const auto& runs = verification.runs();
  std::vector<std::vector<Cell>> rows = {{{"WORKERS"}, {"LAST LOSS"}}};
  if (!verification.reported()) rows[0].push_back({"PARAMETERS"});
  rows[0].push_back({runs.empty() ? "" : absl::StrCat("BESIDE W = ", runs[0].world_size())});
  for (int i = 0; i < runs.size(); ++i) rows.push_back(RunRow(verification, i));
  return client::FormatTable(rows, color);
}

const v1::VerifiedRun* WithLargestDifference(const v1::Verification& verification) {
  const auto& runs = verification.runs();
  const auto largest = std::max_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
    return a.largest_difference() < b.largest_difference();
  });
  return largest == runs.end() || largest->largest_difference() == 0 ? nullptr : &*largest;
}

std::string LargestText(const v1::Verification& verification) {
  const v1::VerifiedRun* run = WithLargestDifference(verification);
  if (run == nullptr) return "no loss differs";
  return absl::StrFormat("largest difference of a loss %s of itself, at step %u of W = %u",
                         MagnitudeText(run->largest_difference()), run->largest_difference_step(),
                         run->world_size());
}

std::string LevelText(v1::EquivalenceLevel level) {
  constexpr size_t kPrefix = sizeof("EQUIVALENCE_LEVEL_") - 1;
  return absl::AsciiStrToLower(v1::EquivalenceLevel_Name(level).substr(kPrefix));
}

std::string StepText(const v1::Difference& difference) {
  return difference.step() == 0 ? "before the first step"
                                : absl::StrCat("at step ", difference.step());
}

bool LossesDiffer(const v1::Difference& difference) {
  return difference.has_first_loss() && difference.has_other_loss() &&
         difference.first_loss() != difference.other_loss();
}

std::string LossesText(const v1::Difference& difference) {
  const bool held_out = difference.aspect() == v1::ASPECT_EVALUATION;
  return absl::StrFormat("loss of %s %u: %s at W = %u, %s at W = %u",
                         held_out ? "the evaluation after step" : "step", difference.step(),
                         NumberText(difference.first_loss()), difference.first_world_size(),
                         NumberText(difference.other_loss()), difference.other_world_size());
}

bool HasEvaluation(const v1::Verification& verification) {
  return !verification.runs().empty() && verification.runs(0).has_evaluation();
}

}  // namespace

std::string FactsText(const v1::Verification& verification) {
  if (verification.reported()) {
    return absl::StrFormat("a program, %s reported, seed %u, level %s",
                           Counted(verification.steps(), "step"), verification.seed(),
                           LevelText(verification.level()));
  }
  return absl::StrFormat("%s, %s, seed %u, level %s", Counted(verification.steps(), "step"),
                         Counted(verification.logical_ranks(), "logical rank"), verification.seed(),
                         LevelText(verification.level()));
}

std::string VerdictSentence(const v1::Verification& verification) {
  const std::string verdict = VerdictText(verification.verdict(), verification.tolerance());
  if (verification.verdict() == v1::VERDICT_BIT_EQUAL && verification.reported()) {
    return absl::StrFormat("%s: %s on %s workers, every loss that was reported", verdict,
                           Counted(verification.steps(), "step"), SizesText(verification));
  }
  if (verification.verdict() == v1::VERDICT_BIT_EQUAL) {
    return absl::StrFormat("%s: %s on %s workers, every loss, every sample%s", verdict,
                           Counted(verification.steps(), "step"), SizesText(verification),
                           HasEvaluation(verification) ? ", every parameter and the evaluation"
                                                       : " and every parameter");
  }
  return absl::StrCat(verdict, ": ", LargestText(verification));
}

std::vector<std::string> DifferenceLines(const v1::Verification& verification) {
  if (!verification.has_difference()) return {};
  const v1::Difference& difference = verification.difference();
  std::vector<std::string> lines = {absl::StrFormat(
      "first difference: %s %s, between W = %u and W = %u", AspectText(difference.aspect()),
      StepText(difference), difference.first_world_size(), difference.other_world_size())};
  if (LossesDiffer(difference)) {
    lines.push_back(LossesText(difference));
  }
  if (!difference.tensor().empty()) {
    lines.push_back(absl::StrCat("first tensor: ", TensorText(difference)));
  }
  return lines;
}

std::string FormatVerification(const v1::Verification& verification, bool color) {
  std::string text = absl::StrCat(verification.name(), ": ", FactsText(verification), "\n\n",
                                  Table(verification, color), "\n");
  const Color verdict_color = ColorOf(verification.verdict(), verification.passed());
  absl::StrAppend(
      &text, client::Paint(VerdictSentence(verification), color ? verdict_color : Color::kNone),
      "\n");
  for (const std::string& line : DifferenceLines(verification)) absl::StrAppend(&text, line, "\n");
  for (const v1::Finding& finding : verification.findings()) {
    absl::StrAppend(&text, "diagnosis: ", DiagnosisText(finding.diagnosis()), "\n    ",
                    finding.sentence(), "\n");
  }
  return text;
}

std::string FormatComparison(const v1::Comparison& comparison) {
  std::string text;
  if (comparison.verdict() == v1::VERDICT_BIT_EQUAL) {
    text = absl::StrFormat("bit-equal: %s and %s over %s\n", comparison.first_job(),
                           comparison.other_job(), Counted(comparison.common_steps(), "step"));
  } else {
    const v1::Difference& difference = comparison.difference();
    text =
        absl::StrFormat("different: %s and %s part at step %u: %s\n", comparison.first_job(),
                        comparison.other_job(), difference.step(), AspectText(difference.aspect()));
    if (LossesDiffer(difference)) {
      absl::StrAppend(&text, LossesText(difference), "\n");
    }
  }
  for (const std::string& key : comparison.differing_keys()) {
    absl::StrAppend(&text, "specification: ", key, "\n");
  }
  return text;
}

}  // namespace tandem::verify
