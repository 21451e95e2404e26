#pragma once

#include <optional>
#include <vector>

#include "client/verify/causes.h"
#include "tandem/v1/verify.pb.h"

namespace tandem::verify {

// What the evidence says about why two runs of different world sizes differ, the likeliest first.
// Never empty: where nothing was found it says what was ruled out. Pure.
std::vector<v1::Finding> Diagnose(const Pair& pair);

// The same for two runs of one world size.
v1::Finding DiagnoseRepetition(const Pair& pair);

// All that can be said of two runs that ended alike, or of which one left no traces: whether one ended
// because its ranks did not agree, on their initial weights where it had not begun to write.
std::optional<v1::Finding> DiagnoseDisagreement(const Pair& pair);

}  // namespace tandem::verify
