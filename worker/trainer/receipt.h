#pragma once

#include <cstdint>

#include "tandem/v1/job.pb.h"

namespace tandem::trainer {

// The value that StepSample.receipt has after this step, given the one after the step before (0
// before the first). `with_parameters`: whether the parameter digest is covered: not where it is only
// there because the job ends, so that a longer job has the same receipts. Two trainings with equal receipts had, up to chance in 2^64, the same samples in
// the same order, the same loss bits and the same parameters.
uint64_t ExtendReceipt(uint64_t receipt, const v1::StepSample& sample, bool with_parameters);

}  // namespace tandem::trainer
