#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tandem/v1/host.pb.h"

namespace tandem::host {

// What the processes of ranks get into their environment, from whoever starts them.

// Lets a process see the devices of these slots, in this order, and no others: the variables that name
// visible devices, empty for a kind that is not theirs.
std::vector<v1::EnvironmentVariable> VisibilityEnvironment(const std::vector<std::string>& slots,
                                                           const v1::ProbeReport& host);

// Whether the environment of whoever starts the process has a variable of this name.
using HasVariable = std::function<bool(const std::string& name)>;
bool IsInOwnEnvironment(const std::string& name);

// Of a rank that trains on this slot: sees that device alone, and has what it needs for equal bits, and,
// where `has_variable` does not say that it is decided already, what keeps the connections of the ranks
// on this host if all of them are here, and warnings of the library that connects them.
std::vector<v1::EnvironmentVariable> TrainerEnvironment(const std::string& slot,
                                                        const v1::ProbeReport& host,
                                                        bool all_are_here,
                                                        const HasVariable& has_variable);

}  // namespace tandem::host
