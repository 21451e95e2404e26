#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tandem::command {

// What rank 0 knows its own ranks by, whoever else can reach its report port: random, made when it binds that port, told to
// the ranks of the attempt through agents and coordinator, and never printed.
std::string NewReportToken();

// Takes as long wherever two of the same length differ. Empty ones are no tokens, and not the same.
bool IsSameToken(absl::string_view a, absl::string_view b);

}  // namespace tandem::command
