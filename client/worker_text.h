#pragma once

#include <string>

#include "client/job_text.h"

namespace tandem::client {

// One line a slot under a heading, with the rank that occupies it.
std::string FormatWorkers(const v1::ListWorkersResponse& workers, const View& view);

}  // namespace tandem::client
