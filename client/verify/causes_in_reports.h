#pragma once

#include "client/verify/causes.h"
#include "tandem/v1/verify.pb.h"

// Causes of a difference between two runs of a program, of which there is only what it reported:
// losses, counts of samples, learning rates, digests of samples. As in causes.h, without traces.
namespace tandem::verify {

// The likeliest cause. Never without one: where the reports show none, it says where to look next. Pure.
v1::Finding DiagnoseReports(const Pair& pair);

}  // namespace tandem::verify
