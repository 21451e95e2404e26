#pragma once

#include <optional>
#include <string>

#include "client/verify/difference.h"
#include "client/verify/evidence.h"

// One function for each cause of a difference. Each looks at what was measured, never at the
// specification, and answers with a sentence that has the numbers, or with nothing where the runs
// do not show the cause.
namespace tandem::verify {

// Two runs of one job that are not bit-equal. Both have traces where nothing else is said, and outlive
// it.
struct Pair {
  const Run& first;
  const Run& other;
  const v1::Difference& difference;
};

using Sentence = std::optional<std::string>;

// Of two runs with one world size: what comes first of all that should have repeated itself.
std::string NotRepeatable(const Pair& pair);

// A tensor differs before the first step, between the runs or between the ranks of one.
Sentence InitialWeights(const Pair& pair);

// A step of one run has more samples than the same step of the other.
Sentence BatchSize(const Pair& pair);
// One run begins an epoch as it began the one before, and the other does not.
Sentence SameOrderEveryEpoch(const Pair& pair);
// More samples come more than once in an epoch of the other run than in that of the first, or fewer
// come at all.
Sentence SamplesTwiceOrNever(const Pair& pair);
// A batch has other samples, or the same in another order.
Sentence OtherOrder(const Pair& pair);

Sentence LearningRate(const Pair& pair);
Sentence Threads(const Pair& pair);

// Two logical ranks on different ranks draw the same random numbers in the other run, and not in
// the first.
Sentence SameDropoutMask(const Pair& pair);
// A logical rank draws other random numbers, and it is not that.
Sentence DropoutByRank(const Pair& pair);

// The first gradient is longer or shorter, from the same samples, weights and draws.
Sentence GradientScale(const Pair& pair);

// Running statistics differ between ranks or between the runs, and no parameter does.
Sentence BatchNormByRank(const Pair& pair);
// A run ended because its ranks did not agree. All there is where they had no time to write it down.
Sentence RanksDisagree(const Pair& pair);
// Ranks that began with the same parameters have different ones after a step, or the run ended
// because of it.
Sentence RanksDrift(const Pair& pair);

// For what none of these explains: the difference is as small as rounding makes it.
Sentence OrderOfAdditions(const Pair& pair);

// Whether each logical rank drew the same numbers at a step. Draws of 0 were not recorded.
bool SameDraws(const Run& first, const Run& other, uint64_t step);

}  // namespace tandem::verify
