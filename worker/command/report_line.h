#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tandem/v1/report.pb.h"

namespace tandem::command {

// A line of JSON that a program wrote about a step:
//   {"step": 1, "loss_sum": 3.5, "count": 2}
// and, where it wants, "epoch", "lr", "combined": true, and "samples": [ids] or "samples_digest": "hex". Keys
// may come in any order; those unknown here are skipped. NaN and Infinity are numbers, as Python writes them.
//   InvalidArgument  it is not that; the message says what is wrong.
absl::StatusOr<v1::StepReport> ParseReport(absl::string_view line);

}  // namespace tandem::command
