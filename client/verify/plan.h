#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tandem/v1/spec.pb.h"

// Which jobs a verification runs. Pure functions.
namespace tandem::verify {

// The numbers of workers to try: `asked` without repetitions, or, where nothing was asked for, those
// of 1, 2 and the specification's own that its logical ranks allow.
std::vector<uint32_t> WorldSizes(const v1::JobSpec& spec, const std::vector<uint32_t>& asked);

// What all runs have in common, so that only `workers` differs: `steps` instead of the length in
// the specification, fixed logical ranks, a digest after every step, evaluation at the end only;
// without checkpoints. A program keeps its length, and is not started again.
//   InvalidArgument  the sizes do not fit; one line that begins with the key.
absl::StatusOr<v1::JobSpec> ControlledSpec(v1::JobSpec spec, const std::vector<uint32_t>& sizes,
                                           uint64_t steps);

// One of the runs. Its ranks write their traces into `trace_dir`, unless they run a program.
v1::JobSpec RunSpec(v1::JobSpec controlled, uint32_t workers, const std::string& trace_dir);

}  // namespace tandem::verify
