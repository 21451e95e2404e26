#include "client/verify/words.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace tandem::verify {
namespace {

// "64 numbers"; "the first 16 of 64 numbers" where not all were compared.
std::string ComparedText(const v1::DifferingValue& value) {
  std::string all = Counted(value.size(), "number");
  if (value.compared() >= value.size()) return all;
  return absl::StrCat("the first ", value.compared(), " of ", all);
}

}  // namespace

std::string NumberText(double value) { return absl::StrFormat("%.9g", value); }

std::string MagnitudeText(double value) { return absl::StrFormat("%.3g", value); }

std::string IdsText(const std::vector<int64_t>& ids) {
  constexpr ptrdiff_t kMost = 5;
  const auto size = static_cast<ptrdiff_t>(ids.size());
  const std::string shown = absl::StrJoin(ids.begin(), ids.begin() + std::min(size, kMost), ", ");
  return size > kMost ? absl::StrCat(shown, ", ...") : shown;
}

std::string Counted(uint64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

std::string ShortDigest(absl::string_view hexadecimal) {
  constexpr size_t kShown = 16;
  return std::string(hexadecimal.substr(0, kShown));
}

std::string VerdictText(v1::Verdict verdict, double tolerance) {
  switch (verdict) {
    case v1::VERDICT_BIT_EQUAL:
      return "bit-equal";
    case v1::VERDICT_WITHIN_TOLERANCE:
      return absl::StrCat("within ", MagnitudeText(tolerance));
    case v1::VERDICT_DIFFERENT:
      return "different";
    default:
      return "not compared";
  }
}

std::string DiagnosisText(v1::Diagnosis diagnosis) {
  switch (diagnosis) {
    case v1::DIAGNOSIS_NOT_REPEATABLE:
      return "one run does not repeat itself";
    case v1::DIAGNOSIS_INITIAL_WEIGHTS:
      return "different initial weights";
    case v1::DIAGNOSIS_BATCH_SIZE:
      return "another global batch";
    case v1::DIAGNOSIS_SAME_ORDER_EVERY_EPOCH:
      return "the same order every epoch";
    case v1::DIAGNOSIS_SAMPLES_TWICE_OR_NEVER:
      return "samples seen twice or never";
    case v1::DIAGNOSIS_LEARNING_RATE:
      return "another learning rate";
    case v1::DIAGNOSIS_THREADS:
      return "different thread counts";
    case v1::DIAGNOSIS_SAME_DROPOUT_MASK:
      return "the same dropout mask on two ranks";
    case v1::DIAGNOSIS_DROPOUT_BY_RANK:
      return "dropout depends on the rank";
    case v1::DIAGNOSIS_GRADIENT_SCALE:
      return "gradient scaled";
    case v1::DIAGNOSIS_BATCH_NORM_BY_RANK:
      return "batch norm statistics per rank";
    case v1::DIAGNOSIS_RANKS_DRIFT:
      return "ranks of one run drift apart";
    case v1::DIAGNOSIS_OTHER_ORDER:
      return "another order of the samples";
    case v1::DIAGNOSIS_ORDER_OF_ADDITIONS:
      return "order of additions";
    default:
      return "unknown";
  }
}

std::string AspectText(v1::Aspect aspect) {
  switch (aspect) {
    case v1::ASPECT_INITIAL:
      return "initial parameters";
    case v1::ASPECT_SAMPLES:
      return "samples";
    case v1::ASPECT_LOSS:
      return "loss";
    case v1::ASPECT_PARAMETERS:
      return "parameters";
    case v1::ASPECT_EARLIER:
      return "something before it";
    case v1::ASPECT_LENGTH:
      return "only one of them has it";
    case v1::ASPECT_EVALUATION:
      return "evaluation";
    default:
      return "nothing";
  }
}

std::string TensorText(const v1::Difference& difference) {
  const std::string when = difference.tensor_step() == 0
                               ? "before the first step"
                               : absl::StrCat("after step ", difference.tensor_step());
  std::string name = absl::StrCat(difference.tensor(), " ", when);
  if (difference.tensor_missing_in() != 0) {
    return absl::StrFormat("%s, which W = %u does not have", name, difference.tensor_missing_in());
  }
  if (!difference.has_value()) return name;
  const v1::DifferingValue& value = difference.value();
  const std::string numbers = ComparedText(value);
  if (value.differing() == 0) return absl::StrFormat("%s (%s are equal)", name, numbers);
  return absl::StrFormat("%s[%s] %s: %s at W = %u, %s at W = %u (%u of %s differ)",
                         difference.tensor(), absl::StrJoin(value.index(), ", "), when,
                         NumberText(value.first()), difference.first_world_size(),
                         NumberText(value.other()), difference.other_world_size(),
                         value.differing(), numbers);
}

}  // namespace tandem::verify
