#pragma once

#include <string>

#include "tandem/v1/spec.pb.h"

namespace tandem::trainer {

// Writes a file that lives until the test program ends; returns its path.
std::string WriteTestFile(const std::string& name, const std::string& text);

// 50 samples of 5 features in 3 classes, 42 of them trained on in global batches of 8 for 4 logical
// ranks: five full batches and one of 2, in which two logical ranks have nothing. Dropout is on.
// Two epochs, so 12 steps. All defaults are filled in.
v1::JobSpec SmallJob();

}  // namespace tandem::trainer
