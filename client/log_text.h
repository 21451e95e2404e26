#pragma once

#include <string>

#include "tandem/v1/job.pb.h"

namespace tandem::client {

// "[1] text": the rank in front; "[2:1] text" from the second attempt on, attempt and rank. Alone,
// the text.
std::string FormatLogLine(const v1::LogLine& line, bool with_rank);

}  // namespace tandem::client
