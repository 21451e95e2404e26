#pragma once

#include <string>
#include <vector>

#include "tandem/v1/trace.pb.h"

namespace tandem::trainer {

// What one rank wrote down.
struct RankTrace {
  v1::TraceHeader header;
  std::vector<v1::StepTrace> steps;
};

// Reads FOLDER/rank-RANK.trace as far as it goes.
RankTrace ReadTrace(const std::string& folder, uint32_t rank);

}  // namespace tandem::trainer
