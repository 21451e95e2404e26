#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tandem/v1/job.pb.h"
#include "tandem/v1/trainer.pb.h"

// The id by which the ranks of an attempt on devices meet: minted by rank 0 while it prepares, handed to the ranks of that
// attempt when they start, and shown to nobody else.
namespace tandem::core {

// Whether the ranks of this job's present attempt meet by it: those of a program see to that themselves, and on CPU there is
// none.
bool MeetsByNcclId(const v1::Job& job);

// What is wrong with what rank 0 of this attempt announced; empty: nothing. One that is alone need not have one.
std::string ProblemWithNcclId(const v1::Job& job, const v1::Prepared& rank_0);

// Enough to tell two ids apart: the first 8 hexadecimal digits of its SHA-256. Empty: there is none.
std::string NcclFingerprint(absl::string_view id);

}  // namespace tandem::core
