#pragma once

#include <string>
#include <vector>

#include "tandem/v1/verify.pb.h"

namespace tandem::verify {

// A table with a line a run, the verdict, where the difference begins and why. Pure.
std::string FormatVerification(const v1::Verification& verification, bool color);

// The verdict in a sentence, and what differs between the two specifications.
std::string FormatComparison(const v1::Comparison& comparison);

// "20 steps, 4 logical ranks, seed 42, level bitwise".
std::string FactsText(const v1::Verification& verification);
// The verdict in one sentence, for people: "bit-equal: 20 steps on 1, 2 and 4 workers ...".
std::string VerdictSentence(const v1::Verification& verification);
// What the first difference is, a line each; empty where there is none.
std::vector<std::string> DifferenceLines(const v1::Verification& verification);

}  // namespace tandem::verify
