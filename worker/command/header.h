#pragma once

#include <ostream>

#include "tandem/v1/trainer.pb.h"

namespace tandem::command {

// What a program is started with, as one block for people. Of the user's own variables only the names: a value
// may be a secret.
void PrintHeader(const v1::Prepare& prepare, const v1::Start& start, std::ostream& out);

}  // namespace tandem::command
