#pragma once

#include <string>

#include "client/job_text.h"

namespace tandem::client {

// Slots that hold a rank.
int BusySlots(const v1::Worker& worker);

// "connected", "disconnected", "draining", "drained", or "draining, disconnected".
std::string WorkerStateText(const v1::Worker& worker);

// One line a slot under a heading, with the rank that occupies it.
std::string FormatWorkers(const v1::ListWorkersResponse& workers, const View& view);

}  // namespace tandem::client
