#pragma once

#include <functional>
#include <map>
#include <string>

#include "tandem/v1/spec.pb.h"

namespace tandem::trainer {

// Of each kind of model, and of what can go wrong with one, a job of 8 logical ranks and 20 steps, by
// name; with a short batch at the end of each epoch.
const std::map<std::string, std::function<v1::JobSpec()>>& ContractJobs();

}  // namespace tandem::trainer
