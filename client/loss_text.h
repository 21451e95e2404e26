#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tandem/v1/job.pb.h"

namespace tandem::client {

// The loss of one step, over all ranks; none where everything was masked.
std::optional<double> LossOf(const v1::StepSample& sample);

// At most `width` bars of eight heights, each the mean of its share of the values; 'x' where one is
// not finite.
std::string Sparkline(const std::vector<double>& values, size_t width);

// Every step, or so many of them, evenly spread, the last one always among them.
std::string FormatLossTable(const v1::GetHistoryResponse& history, size_t most_rows);

// Numbers in full, so that what reads them gets the same bits; empty where there is none.
std::string FormatLossCsv(const v1::GetHistoryResponse& history);

}  // namespace tandem::client
