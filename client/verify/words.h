#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tandem/v1/verify.pb.h"

// How what was measured is put into words.
namespace tandem::verify {

// Nine significant digits: two different floats never look alike.
std::string NumberText(double value);
// Three significant digits, for what says how large and not which.
std::string MagnitudeText(double value);
// "3, 7, 9, 12, 20, ...": at most five.
std::string IdsText(const std::vector<int64_t>& ids);
// "1 sample", "2 samples".
std::string Counted(uint64_t count, absl::string_view noun);
// The first 16 hexadecimal digits, or all there are.
std::string ShortDigest(absl::string_view hexadecimal);

// "bit-equal", "within 0.001", "different".
std::string VerdictText(v1::Verdict verdict, double tolerance);
// "global batch enlarged".
std::string DiagnosisText(v1::Diagnosis diagnosis);
// What differs: "samples", "loss".
std::string AspectText(v1::Aspect aspect);
// "mlp.0.weight[3, 17] after step 1: 0.25 at W = 1, 0.5 at W = 2 (12 of 64 numbers differ)"; where
// that is known, that only one run has it, or that the numbers compared are equal; else the name and
// the step.
std::string TensorText(const v1::Difference& difference);

}  // namespace tandem::verify
