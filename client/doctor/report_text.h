#pragma once

#include <string>
#include <vector>

#include "tandem/v1/doctor.pb.h"

namespace tandem::client::doctor {

// A block for each subject, a line for each finding, with what to do about it below; at the end how many there are.
std::string FormatFindings(const std::vector<v1::HostFinding>& findings, bool color);

}  // namespace tandem::client::doctor
