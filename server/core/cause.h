#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "tandem/v1/job.pb.h"
#include "tandem/v1/trainer.pb.h"
#include "tandem/v1/worker.pb.h"

// Why an attempt ended, each in one sentence that says who, what and where. Attempt number and time
// are left to whoever keeps the cause.
namespace tandem::core {

// Whether another attempt may end better. What is wrong with the job itself stays wrong.
bool MayHeal(v1::CauseCode code);

// "at step 7 (reduce)"; without the phase where that is not known.
std::string Where(uint64_t step, v1::Phase phase);

// `rank` said so itself. A code that a rank has no business with counts as RANK_ERROR.
v1::Cause FailureReported(const v1::RankStatus& rank, const v1::RankFailure& failure);
// `rank` announced a meeting point that nobody can reach.
v1::Cause NoMasterPort(const v1::RankStatus& rank);
// As nccl_id.h says it.
v1::Cause BadNcclId(const v1::RankStatus& rank, absl::string_view problem);
// The process ended without saying why.
v1::Cause RankDied(const v1::RankExited& exit);
// Its agent stopped the process, and not because the coordinator had asked for it. Why, if the
// agent says so, is in exit.failure.
v1::Cause RankStopped(const v1::RankStatus& rank, const v1::RankExited& exit);
v1::Cause WorkerLost(const v1::RankStatus& rank, absl::string_view why);
// `rank` would go on from another step than rank 0: it does not see the same checkpoints.
v1::Cause BeginsElsewhere(const v1::RankStatus& rank, uint64_t steps_done,
                          uint64_t steps_of_rank_0);
// Names at most three of `missing`, which is not empty.
v1::Cause PrepareTimedOut(const std::vector<const v1::RankStatus*>& missing, int world_size,
                          absl::Duration waited);
// `rank` ended with other parameters than rank 0.
v1::Cause DigestsDiffer(const v1::RankStatus& rank);

}  // namespace tandem::core
