#pragma once

#include <string>
#include <vector>

#include "client/doctor/findings.h"
#include "tandem/v1/doctor.pb.h"
#include "tandem/v1/host.pb.h"

namespace tandem::client {

// Has `trainer` test itself, on the CPU and on the first two devices of each kind that has two. Adds what cannot be
// tested to `findings`.
std::vector<v1::SelfTestReport> RunSelfTests(const std::string& trainer,
                                             const v1::ProbeReport& devices,
                                             doctor::Findings* findings);

}  // namespace tandem::client
