#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tandem/v1/job.pb.h"
#include "tandem/v1/trace.pb.h"

// What `tandem verify` measures, and questions about it. Pure functions.
namespace tandem::verify {

// The trace of one rank.
struct RankTrace {
  v1::TraceHeader header;
  // In order, from step 1.
  std::vector<v1::StepTrace> steps;
};

// One training on `world_size` ranks: what its coordinator recorded, and what its ranks wrote down.
struct Run {
  uint32_t world_size = 0;
  // In order, from step 1.
  std::vector<v1::StepSample> samples;
  // In order.
  std::vector<v1::Evaluation> evaluations;
  // By rank. All are there, or none where the run ended before they began to write.
  std::vector<RankTrace> ranks;
  // Why it ended before its last step; empty where it did not.
  std::string cause;
  // That is the cause: a rank was found to have other parameters than rank 0.
  bool ranks_disagree = false;
};

// The same job, run several times.
struct Evidence {
  // The first two have the same world size. At least those.
  std::vector<Run> runs;
};

// "W = 2".
std::string NameOf(const Run& run);

// Nothing where the rank did not come so far.
const v1::StepTrace* StepOf(const RankTrace& rank, uint64_t step);

// What a logical rank did at a step, and on which rank.
struct Leaf {
  uint32_t rank;
  const v1::LeafTrace* trace;
};
// In order of logical rank.
std::vector<Leaf> LeavesAt(const Run& run, uint64_t step);

// Ids of the samples of the global batch, in order.
std::vector<int64_t> BatchAt(const Run& run, uint64_t step);

// What was trained on in one epoch, in order.
struct EpochOrder {
  std::vector<int64_t> samples;
  // It has come to its end.
  bool complete = false;
};
// By number of the epoch, counted from 0.
std::map<uint64_t, EpochOrder> EpochsOf(const Run& run);

using Tensors = google::protobuf::RepeatedPtrField<v1::TensorDigest>;

// Parameters and buffers of a rank after a step (0: before the first); empty where it did not come
// so far.
const Tensors& TensorsAt(const RankTrace& rank, uint64_t step);

bool Has(const Tensors& tensors, const std::string& name);

// Names of those that are not in both with the same bits: in the order of `first`, then what only
// `other` has.
std::vector<std::string> DifferingTensors(const Tensors& first, const Tensors& other);

// Steps that every rank of both has traced.
uint64_t CommonSteps(const Run& first, const Run& other);

}  // namespace tandem::verify
