#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tandem/v1/checkpoint.pb.h"
#include "tandem/v1/spec.pb.h"

namespace tandem::checkpoint {

// All that the bits of a training depend on.
struct TrainingIdentity {
  v1::JobSpec spec;  // with all defaults filled in
  std::string data_fingerprint;
  std::string build;
  std::string device;
};

// Whether a job that is `now` may go on from the checkpoint with the same bits as if it had never
// stopped. Everything that a specification says has to be the same, except what cannot change a bit:
// name, workers, steps and epochs (unless the learning rate follows a cosine to the last step), when
// and on what it is evaluated, checkpoint, resume_from, trace, verify_every, data.loader_threads,
// data.prefetch, and the paths of data files, which the fingerprint stands for.
//   InvalidArgument  the first difference: its key, or `data`, `build` or `device`, and both values;
//                    or more steps than `total_steps` were done already. A retry would fail again.
// Pure.
absl::Status CheckResumable(const v1::CheckpointManifest& manifest, const TrainingIdentity& now,
                            uint64_t total_steps);

}  // namespace tandem::checkpoint
