#pragma once

#include "client/verify/evidence.h"
#include "tandem/v1/verify.pb.h"

namespace tandem::verify {

struct JudgeOptions {
  v1::EquivalenceLevel level = v1::EQUIVALENCE_LEVEL_BITWISE;
  // Of the loss, relative; the bar of a job at level SEMANTIC. Any other job is held to its bits.
  double tolerance = 1e-3;
  // The runs are those of a program: all there is of them is what it reported. Losses decide, and the
  // rest only explains.
  bool reported = false;
};

// Whether the runs are one training, and if not, why. All of the answer but what is not evidence:
// name, steps, logical ranks and seed of the job. Pure.
v1::Verification Judge(const Evidence& evidence, const JudgeOptions& options);

}  // namespace tandem::verify
