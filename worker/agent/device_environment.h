#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tandem/v1/host.pb.h"
#include "tandem/v1/trainer.pb.h"

namespace tandem::agent {

// Whether the agent's own environment has a variable of this name.
using HasVariable = std::function<bool(const std::string& name)>;

// What the process of a rank gets into its environment, so that it sees the device of its slot and no other: the variables
// that name visible devices, empty for a kind that is not the slot's. A trainer besides gets what its device needs for equal
// bits, and, where the agent's environment does not say it otherwise, what keeps its ranks' connections on this host if all
// are here, and warnings of the library that connects them. A program of the user's is left to decide about those itself; it
// sees the devices of all ranks here, by local rank.
std::vector<v1::EnvironmentVariable> DeviceEnvironment(const v1::Prepare& prepare,
                                                       const v1::ProbeReport& host,
                                                       const HasVariable& has_variable);

}  // namespace tandem::agent
