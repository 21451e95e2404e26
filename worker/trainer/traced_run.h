#pragma once

#include <string>
#include <vector>

#include "tandem/v1/spec.pb.h"
#include "tandem/v1/trace.pb.h"
#include "worker/process/testing/test_agent.h"

namespace tandem::trainer {

// A job that ran to its end, with all that was written down about it.
struct TracedRun {
  std::vector<std::string> tensors;               // serialized digests of all tensors, by step
  std::vector<std::string> samples;               // serialized StepSample, by step
  std::string digest;                             // of parameters and buffers, at the end
  std::vector<std::vector<v1::StepTrace>> ranks;  // by rank, then step
};

// Trains on real processes, and expects that all ranks had the same tensors after every step.
TracedRun TrainTraced(v1::JobSpec spec, uint32_t world_size, const std::string& binary = TRAINER,
                      const AttemptOptions& attempt = {});

// Of every step, and at the end.
void ExpectSameBits(const TracedRun& a, const TracedRun& b);

// The ids of the samples of one step, of all ranks, in the order of logical ranks. `step` counts the
// steps of this run, from 1.
std::vector<int64_t> SamplesOf(const TracedRun& run, uint64_t step);

}  // namespace tandem::trainer
