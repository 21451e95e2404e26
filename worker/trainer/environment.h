#pragma once

#include <ostream>

#include "tandem/v1/trainer.pb.h"
#include "worker/trainer/rank_device.h"
#include "worker/trainer/workload.h"

namespace tandem::trainer {

// Everything that decides what this rank computes, as one block for people.
void PrintEnvironment(const v1::Prepare& assignment, const Workload& workload,
                      const RankDevice& device, std::ostream& out);

}  // namespace tandem::trainer
