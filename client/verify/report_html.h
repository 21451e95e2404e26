#pragma once

#include <string>

#include "tandem/v1/verify.pb.h"

namespace tandem::verify {

// The verification as one page that needs nothing from outside: verdict, curves, their difference,
// diagnosis and every loss in full. Well-formed XML as well as HTML. Pure.
std::string FormatPage(const v1::Verification& verification);

}  // namespace tandem::verify
