#pragma once

#include <vector>

#include "tandem/v1/job.pb.h"
#include "tandem/v1/verify.pb.h"

namespace tandem::verify {

// A job, and the history of its steps. A job that goes on from a checkpoint has none of the steps
// before it.
struct RecordedJob {
  v1::Job job;
  std::vector<v1::StepSample> samples;
  std::vector<v1::Evaluation> evaluations;
};

// Whether two jobs did the same training, as far as their coordinator recorded it: samples and loss
// of every step that both have, parameters wherever both have a digest of them, evaluations after the
// same step where both hold out the same samples, and, by the rolling receipt, what came before the first of these steps. Bit-equal means that both also end with the
// same step. Pure.
v1::Comparison Compare(const RecordedJob& first, const RecordedJob& other);

}  // namespace tandem::verify
